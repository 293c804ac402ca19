//! The C interface: `include/ascsim_exec.h`, which cbindgen makes of this file.
//!
//! # Contract
//! Pointers are null or valid for what their argument is for, for as long as the call takes; texts
//! end with a zero. Null where something is needed, text that is not UTF-8 and handles of another
//! thread are refused, not followed.
#![expect(unsafe_code, reason = "the C ABI; the argument stands at each block")]
#![expect(
    clippy::missing_safety_doc,
    reason = "one contract for all, at the head of the module"
)]

mod program;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use crate::acl::Stream;
use program::{Fault, Given};

pub use program::AscsimProgram;

/// Outcome of a call. `ascsim_error` says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum AscsimStatus {
    /// Done.
    Ok = 0,
    /// A step failed; every stream has been aborted.
    Failed = 1,
    /// Wrong input: nothing was submitted.
    Refused = 2,
    /// `ascsim_abort` ended the run; every stream has been aborted.
    Aborted = 3,
    /// The call does not fit the state of the program, or comes from another thread.
    Misuse = 4,
    /// A fault of ascsim.
    Bug = 70,
}

/// What runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum AscsimBackend {
    /// The library that is given, else that of CANN; the emulator of ascsim is such a library.
    Acl = 0,
    /// Nothing: what would be refused is refused, and nothing is done.
    Null = 1,
}

/// How a program is run.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AscsimOptions {
    /// What runs it: an `AscsimBackend`.
    pub backend: u32,
    /// 1 to capture each rank's ops once and replay them; 0 to submit them in each step.
    pub graph: u32,
    /// How long the host waits for a stream, in ms.
    pub timeout_ms: u32,
    /// 0; reserved.
    pub reserved: u32,
    /// The library to open, or null for that of `ASCSIM_ACL_LIB` or CANN.
    pub library: *const c_char,
    /// The folder that relative paths of kernel binaries start from, or null for the current one.
    pub folder: *const c_char,
}

/// What a program is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum AscsimState {
    /// It was loaded and can be bound.
    Loaded = 0,
    /// It is bound and prepared, and can be run.
    Ready = 1,
    /// It runs.
    Running = 2,
    /// A step failed or was aborted: it can only be freed.
    Stopped = 3,
}

/// Where a program is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AscsimProgress {
    /// What it is doing: an `AscsimState`.
    pub state: u32,
    /// 0; reserved.
    pub reserved: u32,
    /// Steps that ended well.
    pub steps: u64,
}

/// Enqueues an op on the `aclrtStream` that it is given, for the rank with this index. It returns 0,
/// or anything else if it failed.
pub type AscsimCallback =
    Option<unsafe extern "C" fn(stream: *mut c_void, rank: u32, user: *mut c_void) -> i32>;

/// What a stream calls on the host, on a thread of the runtime. It must not call ACL.
pub type AscsimFunction = Option<unsafe extern "C" fn(user: *mut c_void)>;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Runs the body of a call; keeps the message of its failure.
fn call(body: impl FnOnce() -> Result<(), Fault>) -> AscsimStatus {
    let fault = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return AscsimStatus::Ok,
        Ok(Err(fault)) => fault,
        Err(_) => Fault::new(AscsimStatus::Bug, "an internal check failed"),
    };
    let text = fault.message.replace('\0', " ");
    MESSAGE.with_borrow_mut(|message| *message = CString::new(text).unwrap_or_default());
    fault.status
}

/// Why the latest call of this thread that failed did so. Valid until the thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn ascsim_error() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Reads a schedule and its certificate, and refuses a certificate that does not admit it. The
/// program belongs to the calling thread: only `ascsim_query` and `ascsim_abort` may be called from
/// others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_load(
    schedule: *const u8,
    schedule_bytes: usize,
    certificate: *const u8,
    certificate_bytes: usize,
    program: *mut *mut AscsimProgram,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module.
        let (schedule, certificate) = unsafe {
            (
                bytes(schedule, schedule_bytes, "schedule")?,
                bytes(certificate, certificate_bytes, "certificate")?,
            )
        };
        if program.is_null() {
            return Err(Fault::null("program"));
        }
        let loaded = Box::new(AscsimProgram::load(schedule, certificate)?);
        // SAFETY: not null, so valid by the contract of the module.
        unsafe { program.write(Box::into_raw(loaded)) };
        Ok(())
    })
}

/// Compares the program with its certificate again, and with the devices once it is prepared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_verify(program: *const AscsimProgram) -> AscsimStatus {
    // SAFETY: by the contract of the module.
    call(|| unsafe { own(program) }?.verify())
}

/// Gives the callback that ops name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_bind_callback(
    program: *const AscsimProgram,
    name: *const c_char,
    callback: AscsimCallback,
    user: *mut c_void,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module.
        let (program, name) = unsafe { (own(program)?, text(name, "name")?) };
        let callback = callback.ok_or(Fault::null("callback"))?;
        let given: crate::Callback = Box::new(move |stream: &Stream, rank: usize| {
            let stream = std::ptr::with_exposed_provenance_mut(stream.as_raw());
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            // SAFETY: whoever gave the callback says that it may be called so.
            match unsafe { callback(stream, rank, user) } {
                0 => Ok(()),
                code => Err(format!("it returned {code}")),
            }
        });
        program.bind(Given::Callback(name, given))
    })
}

/// Gives the host function that ops name. It may be called for as long as the process lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_bind_function(
    program: *const AscsimProgram,
    name: *const c_char,
    function: AscsimFunction,
    user: *mut c_void,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module.
        let (program, name) = unsafe { (own(program)?, text(name, "name")?) };
        let function = function.ok_or(Fault::null("function"))?;
        let user = user.expose_provenance();
        let given: crate::acl::HostFunction = Box::new(move || {
            // SAFETY: whoever gave the function says that it may be called so, on any thread.
            unsafe { function(std::ptr::with_exposed_provenance_mut(user)) };
        });
        program.bind(Given::Function(name, given))
    })
}

/// Lends an `aclrtStream` of the caller's to the rank with this number. It must outlive the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_bind_stream(
    program: *const AscsimProgram,
    rank: u32,
    name: *const c_char,
    stream: *mut c_void,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module; the caller keeps the stream alive.
        let (program, name, stream) = unsafe {
            let stream = Stream::from_raw(stream.expose_provenance());
            (own(program)?, text(name, "name")?, stream)
        };
        program.bind(Given::Stream(rank, name, stream))
    })
}

/// Compares the devices with the certificate and makes everything that the program needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_prepare(
    program: *const AscsimProgram,
    options: *const AscsimOptions,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module.
        let (program, options) = unsafe { (own(program)?, options.as_ref()) };
        let options = options.ok_or(Fault::null("options"))?;
        // SAFETY: by the contract of the module.
        let optional = |it: *const c_char| (!it.is_null()).then(|| unsafe { text(it, "path") });
        let library = optional(options.library).transpose()?;
        let folder = optional(options.folder).transpose()?;
        program.prepare(options, library, folder)
    })
}

/// Runs so many steps, and waits for the end of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_run(program: *const AscsimProgram, steps: u64) -> AscsimStatus {
    // SAFETY: by the contract of the module.
    call(|| unsafe { own(program) }?.run(steps))
}

/// Says where the program is. From any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_query(
    program: *const AscsimProgram,
    progress: *mut AscsimProgress,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module; what is read is atomic.
        let program = unsafe { program.as_ref() }.ok_or(Fault::null("program"))?;
        if progress.is_null() {
            return Err(Fault::null("progress"));
        }
        // SAFETY: not null, so valid by the contract of the module.
        unsafe { progress.write(program.progress()) };
        Ok(())
    })
}

/// Has the thread that runs the program end it after the step that it is in, with every stream
/// aborted. From any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_abort(program: *const AscsimProgram) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module; what is written is atomic.
        let program = unsafe { program.as_ref() }.ok_or(Fault::null("program"))?;
        program.abort();
        Ok(())
    })
}

/// Writes bytes into a buffer of a rank, by its number, while no step runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_write(
    program: *const AscsimProgram,
    rank: u32,
    buffer: *const c_char,
    offset: u64,
    from: *const u8,
    count: usize,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module.
        let (program, buffer, from) = unsafe {
            (
                own(program)?,
                text(buffer, "buffer")?,
                bytes(from, count, "from")?,
            )
        };
        program.write(rank, &buffer, offset, from)
    })
}

/// Reads bytes from a buffer of a rank, by its number, while no step runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_read(
    program: *const AscsimProgram,
    rank: u32,
    buffer: *const c_char,
    offset: u64,
    to: *mut u8,
    count: usize,
) -> AscsimStatus {
    call(|| {
        // SAFETY: by the contract of the module.
        let (program, buffer) = unsafe { (own(program)?, text(buffer, "buffer")?) };
        if to.is_null() {
            return Err(Fault::null("to"));
        }
        let mut read = vec![0; count];
        program.read(rank, &buffer, offset, &mut read)?;
        // SAFETY: not null, so with room for `count` bytes by the contract of the module. It may not
        // be initialised, so no slice is made of it.
        unsafe { to.copy_from_nonoverlapping(read.as_ptr(), count) };
        Ok(())
    })
}

/// Gives everything back and frees the program; null is nothing. From the program's thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ascsim_free(program: *mut AscsimProgram) -> AscsimStatus {
    call(|| {
        if program.is_null() {
            return Ok(());
        }
        // SAFETY: by the contract of the module.
        unsafe { own(program) }?.close()?;
        // SAFETY: it comes from `ascsim_load`, and by the contract nobody uses it any more.
        drop(unsafe { Box::from_raw(program) });
        Ok(())
    })
}

/// The program, if it belongs to this thread.
///
/// # Safety
/// By the contract of the module.
unsafe fn own<'a>(program: *const AscsimProgram) -> Result<&'a AscsimProgram, Fault> {
    // SAFETY: by the contract of this function. All calls share the program; what they change is
    // behind a cell that only its thread opens, or atomic.
    let program = unsafe { program.as_ref() }.ok_or(Fault::null("program"))?;
    program.check_thread()?;
    Ok(program)
}

/// # Safety
/// By the contract of the module.
unsafe fn bytes<'a>(start: *const u8, count: usize, what: &str) -> Result<&'a [u8], Fault> {
    if start.is_null() || isize::try_from(count).is_err() {
        return Err(Fault::null(what));
    }
    // SAFETY: not null, and valid for `count` bytes by the contract of this function.
    Ok(unsafe { slice::from_raw_parts(start, count) })
}

/// # Safety
/// By the contract of the module.
unsafe fn text(start: *const c_char, what: &str) -> Result<String, Fault> {
    if start.is_null() {
        return Err(Fault::null(what));
    }
    // SAFETY: not null, and a text by the contract of this function.
    let text = unsafe { CStr::from_ptr(start) }.to_str();
    text.map(str::to_owned)
        .map_err(|_| Fault::new(AscsimStatus::Refused, format!("`{what}` is not UTF-8")))
}
