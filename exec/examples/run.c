/* Runs three steps of a schedule; the kernel "mine" is enqueued by this program.
 *
 *   cc -Iexec/include exec/examples/run.c -Ltarget/release -lascsim_exec -o run
 *   ./run schedule.json certificate.json libascsim_emulator.so
 *
 * Exit codes: 0 done, 1 a step failed, 2 bad input.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ascsim_exec.h"

/* A framework would launch its kernel on the stream here. */
static int32_t enqueue(void *stream, uint32_t rank, void *user)
{
    (void)stream;
    (void)rank;
    ++*(unsigned *)user;
    return 0;
}

static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    long end = 0;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0) {
        perror(path);
        exit(2);
    }
    *size = (size_t)end;
    rewind(file);
    bytes = malloc(*size + 1);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return bytes;
}

static void check(AscsimStatus status, const char *what)
{
    if (status != ASCSIM_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, ascsim_error());
        exit((int)status);
    }
}

int main(int count, char **arguments)
{
    AscsimProgram *program = NULL;
    AscsimOptions options = {0};
    AscsimProgress progress;
    unsigned calls = 0;
    size_t schedule_size, certificate_size;
    unsigned char *schedule, *certificate;
    if (count != 4) {
        fprintf(stderr, "usage: run SCHEDULE CERTIFICATE LIBRARY\n");
        return 2;
    }
    schedule = read_file(arguments[1], &schedule_size);
    certificate = read_file(arguments[2], &certificate_size);
    check(ascsim_load(schedule, schedule_size, certificate, certificate_size, &program), "load");
    free(schedule);
    free(certificate);

    check(ascsim_bind_callback(program, "mine", enqueue, &calls), "bind");
    options.backend = ASCSIM_BACKEND_ACL;
    options.timeout_ms = 10000;
    options.library = arguments[3];
    check(ascsim_prepare(program, &options), "prepare");
    check(ascsim_verify(program), "verify");
    check(ascsim_run(program, 3), "run");
    check(ascsim_query(program, &progress), "query");
    printf("ran %llu steps; the callback was called %u times\n",
           (unsigned long long)progress.steps, calls);
    check(ascsim_free(program), "free");
    return 0;
}
