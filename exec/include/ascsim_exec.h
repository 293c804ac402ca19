/* The C interface of the executor of ascsim. Made by cbindgen from exec/src/ffi; do not edit it:
   `UPDATE_EXPECT=1 cargo test -p ascsim-exec --test c` writes it anew. */

#ifndef ASCSIM_EXEC_H
#define ASCSIM_EXEC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 Outcome of a call. `ascsim_error` says more.
 */
typedef enum AscsimStatus {
  /*
   Done.
   */
  ASCSIM_STATUS_OK = 0,
  /*
   A step failed; every stream has been aborted.
   */
  ASCSIM_STATUS_FAILED = 1,
  /*
   Wrong input: nothing was submitted.
   */
  ASCSIM_STATUS_REFUSED = 2,
  /*
   `ascsim_abort` ended the run; every stream has been aborted.
   */
  ASCSIM_STATUS_ABORTED = 3,
  /*
   The call does not fit the state of the program, or comes from another thread.
   */
  ASCSIM_STATUS_MISUSE = 4,
  /*
   A fault of ascsim.
   */
  ASCSIM_STATUS_BUG = 70,
} AscsimStatus;

/*
 What runs a program.
 */
typedef enum AscsimBackend {
  /*
   The library that is given, else that of CANN; the emulator of ascsim is such a library.
   */
  ASCSIM_BACKEND_ACL = 0,
  /*
   Nothing: what would be refused is refused, and nothing is done.
   */
  ASCSIM_BACKEND_NULL = 1,
} AscsimBackend;

/*
 What a program is doing.
 */
typedef enum AscsimState {
  /*
   It was loaded and can be bound.
   */
  ASCSIM_STATE_LOADED = 0,
  /*
   It is bound and prepared, and can be run.
   */
  ASCSIM_STATE_READY = 1,
  /*
   It runs.
   */
  ASCSIM_STATE_RUNNING = 2,
  /*
   A step failed or was aborted: it can only be freed.
   */
  ASCSIM_STATE_STOPPED = 3,
} AscsimState;

/*
 A schedule with its certificate, what it is bound to, and what runs it.
 */
typedef struct AscsimProgram AscsimProgram;

/*
 Enqueues an op on the `aclrtStream` that it is given, for the rank with this index. It returns 0,
 or anything else if it failed.
 */
typedef int32_t (*AscsimCallback)(void *stream, uint32_t rank, void *user);

/*
 What a stream calls on the host, on a thread of the runtime. It must not call ACL.
 */
typedef void (*AscsimFunction)(void *user);

/*
 How a program is run.
 */
typedef struct AscsimOptions {
  /*
   What runs it: an `AscsimBackend`.
   */
  uint32_t backend;
  /*
   1 to capture each rank's ops once and replay them; 0 to submit them in each step.
   */
  uint32_t graph;
  /*
   How long the host waits for a stream, in ms.
   */
  uint32_t timeout_ms;
  /*
   0; reserved.
   */
  uint32_t reserved;
  /*
   The library to open, or null for that of `ASCSIM_ACL_LIB` or CANN.
   */
  const char *library;
  /*
   The folder that relative paths of kernel binaries start from, or null for the current one.
   */
  const char *folder;
} AscsimOptions;

/*
 Where a program is.
 */
typedef struct AscsimProgress {
  /*
   What it is doing: an `AscsimState`.
   */
  uint32_t state;
  /*
   0; reserved.
   */
  uint32_t reserved;
  /*
   Steps that ended well.
   */
  uint64_t steps;
} AscsimProgress;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Why the latest call of this thread that failed did so. Valid until the thread's next call.
 */
const char *ascsim_error(void);

/*
 Reads a schedule and its certificate, and refuses a certificate that does not admit it. The
 program belongs to the calling thread: only `ascsim_query` and `ascsim_abort` may be called from
 others.
 */
enum AscsimStatus ascsim_load(const uint8_t *schedule,
                              uintptr_t schedule_bytes,
                              const uint8_t *certificate,
                              uintptr_t certificate_bytes,
                              struct AscsimProgram **program);

/*
 Compares the program with its certificate again, and with the devices once it is prepared.
 */
enum AscsimStatus ascsim_verify(const struct AscsimProgram *program);

/*
 Gives the callback that ops name.
 */
enum AscsimStatus ascsim_bind_callback(const struct AscsimProgram *program,
                                       const char *name,
                                       AscsimCallback callback,
                                       void *user);

/*
 Gives the host function that ops name. It may be called for as long as the process lives.
 */
enum AscsimStatus ascsim_bind_function(const struct AscsimProgram *program,
                                       const char *name,
                                       AscsimFunction function,
                                       void *user);

/*
 Lends an `aclrtStream` of the caller's to the rank with this number. It must outlive the program.
 */
enum AscsimStatus ascsim_bind_stream(const struct AscsimProgram *program,
                                     uint32_t rank,
                                     const char *name,
                                     void *stream);

/*
 Compares the devices with the certificate and makes everything that the program needs.
 */
enum AscsimStatus ascsim_prepare(const struct AscsimProgram *program,
                                 const struct AscsimOptions *options);

/*
 Runs so many steps, and waits for the end of each.
 */
enum AscsimStatus ascsim_run(const struct AscsimProgram *program, uint64_t steps);

/*
 Says where the program is. From any thread.
 */
enum AscsimStatus ascsim_query(const struct AscsimProgram *program,
                               struct AscsimProgress *progress);

/*
 Has the thread that runs the program end it after the step that it is in, with every stream
 aborted. From any thread.
 */
enum AscsimStatus ascsim_abort(const struct AscsimProgram *program);

/*
 Writes bytes into a buffer of a rank, by its number, while no step runs.
 */
enum AscsimStatus ascsim_write(const struct AscsimProgram *program,
                               uint32_t rank,
                               const char *buffer,
                               uint64_t offset,
                               const uint8_t *from,
                               uintptr_t count);

/*
 Reads bytes from a buffer of a rank, by its number, while no step runs.
 */
enum AscsimStatus ascsim_read(const struct AscsimProgram *program,
                              uint32_t rank,
                              const char *buffer,
                              uint64_t offset,
                              uint8_t *to,
                              uintptr_t count);

/*
 Gives everything back and frees the program; null is nothing. From the program's thread.
 */
enum AscsimStatus ascsim_free(struct AscsimProgram *program);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ASCSIM_EXEC_H */
