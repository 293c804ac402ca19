//! The declarations: prototypes of the functions that are called, and their lazy look-up.
//!
//! Handles and device addresses are `usize`: on the platforms of ACL (64-bit Linux) they are passed
//! like pointers, and this crate never follows them. Prototypes: facts/acl.md sections 1 to 15.
#![expect(
    unsafe_code,
    reason = "foreign functions; the argument stands at each block"
)]

use std::ffi::{OsStr, c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

use super::AclError;

/// A callback that a stream runs (`aclrtHostFunc`).
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// One launch attribute: id, then a union of 16 bytes of which at most the first four count here.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LaunchAttribute {
    /// Which attribute.
    pub id: u32,
    /// The rest of the slot before the union, which is aligned to 4 bytes.
    pub value: [u32; 4],
}

/// The attributes of a launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    /// The attributes.
    pub attributes: *const LaunchAttribute,
    /// How many.
    pub count: usize,
}

/// Room for the root info of a communicator: 4108 bytes (facts/acl.md section 12).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RootInfo(pub [u8; 4108]);

impl std::fmt::Debug for RootInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RootInfo")
    }
}

macro_rules! functions {
    ($( fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty; )*) => {
        /// The functions, in the order of facts/acl.md.
        #[expect(non_camel_case_types, reason = "the names of the C functions")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Symbol {
            $(#[doc = concat!("`", stringify!($name), "`")] $name,)*
        }

        impl Symbol {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name in the library.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }

        /// The types of the functions, for a test that compares them with a library's.
        #[expect(non_camel_case_types, reason = "the names of the C functions")]
        pub mod prototypes {
            use super::*;
            $(#[doc = concat!("`", stringify!($name), "`")]
            pub type $name = unsafe extern "C" fn($($type),*) -> $result;)*
        }

        /// How each function is called, by name, to compare it with CANN's headers.
        #[cfg(feature = "bindgen")]
        pub fn signatures() -> Vec<(&'static str, super::headers::Signature)> {
            use super::headers::Callable;
            vec![$((stringify!($name), prototypes::$name::signature())),*]
        }

        #[expect(non_snake_case, reason = "the names of the C functions")]
        #[expect(clippy::too_many_arguments, reason = "the shape of the C functions")]
        #[expect(clippy::missing_safety_doc, reason = "one contract for all, at the type")]
        impl Functions {
            $(#[doc = concat!("`", stringify!($name), "`; see the contract of the type.")]
            pub unsafe fn $name(&self, $($argument: $type),*) -> Result<$result, AclError> {
                let symbol = self.symbol(Symbol::$name)?;
                // SAFETY: the library defines the symbol with this C prototype (facts/acl.md); all
                // function pointers have one size. The caller keeps the function's own contract.
                unsafe {
                    let function = std::mem::transmute::<Untyped, prototypes::$name>(symbol);
                    Ok(function($($argument),*))
                }
            })*
        }
    };
}

type Untyped = unsafe extern "C" fn();

/// An opened library whose functions are looked up when they are first called.
///
/// # Contract
/// Each function is as safe as the C function: pointers must be valid for what facts/acl.md says the
/// function does with them, for as long as it (or the task it queues) does so, and handles must come
/// from this library and not be destroyed.
pub struct Functions {
    /// Never closed: the runtime has threads of its own.
    libraries: Vec<&'static Library>,
    /// What was opened, for messages.
    name: String,
    symbols: Vec<OnceLock<Option<Untyped>>>,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Functions {
    /// Opens the first of `candidates` that loads, and besides it those of `more` that do (HCCL and
    /// the operators live in libraries of their own).
    ///
    /// # Errors
    /// If none of `candidates` loads: [`AclError::Open`] with the loader's message for each.
    pub fn open(candidates: &[&OsStr], more: &[&OsStr]) -> Result<Self, AclError> {
        let mut tried = Vec::new();
        for candidate in candidates {
            match load(candidate) {
                Ok(library) => {
                    let others = more.iter().filter_map(|name| load(name).ok());
                    return Ok(Self {
                        libraries: std::iter::once(library).chain(others).collect(),
                        name: candidate.to_string_lossy().into_owned(),
                        symbols: Symbol::ALL.iter().map(|_| OnceLock::new()).collect(),
                    });
                }
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(AclError::Open { tried })
    }

    /// The name or path of the library.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the library has the function.
    pub fn has(&self, symbol: Symbol) -> bool {
        self.symbol(symbol).is_ok()
    }

    fn symbol(&self, symbol: Symbol) -> Result<Untyped, AclError> {
        self.symbols[symbol as usize]
            .get_or_init(|| self.find(symbol.name()))
            .ok_or(AclError::Missing {
                function: symbol.name(),
            })
    }

    fn find(&self, name: &str) -> Option<Untyped> {
        self.libraries.iter().find_map(|library| {
            // SAFETY: the symbol is only kept as an untyped function pointer here. The library is
            // never closed, so that it stays valid.
            let found = unsafe { library.get::<Untyped>(name.as_bytes()) };
            found.ok().map(|symbol| *symbol)
        })
    }
}

fn load(name: &OsStr) -> Result<&'static Library, libloading::Error> {
    // SAFETY: runs the initialisers of the library. It is CANN's, our emulator, or what the user
    // named, each of which is made to be loaded this way.
    let library = unsafe { Library::new(name) }?;
    Ok(Box::leak(Box::new(library)))
}

functions! {
    fn aclInit(config: *const c_char) -> i32;
    fn aclFinalize() -> i32;
    fn aclGetRecentErrMsg() -> *const c_char;
    fn aclrtGetSocName() -> *const c_char;
    fn aclsysGetVersionStr(package: *mut c_char, version: *mut c_char) -> i32;
    fn aclrtGetDeviceCount(count: *mut u32) -> i32;
    fn aclrtSetDevice(device: i32) -> i32;
    fn aclrtGetDevice(device: *mut i32) -> i32;
    fn aclrtResetDevice(device: i32) -> i32;
    fn aclrtResetDeviceForce(device: i32) -> i32;
    fn aclrtSynchronizeDevice() -> i32;
    fn aclrtSynchronizeDeviceWithTimeout(milliseconds: i32) -> i32;
    fn aclrtGetDeviceInfo(device: u32, attribute: u32, value: *mut i64) -> i32;
    fn aclrtDeviceEnablePeerAccess(peer: i32, flags: u32) -> i32;
    fn aclrtCreateContext(context: *mut usize, device: i32) -> i32;
    fn aclrtDestroyContext(context: usize) -> i32;
    fn aclrtSetCurrentContext(context: usize) -> i32;
    fn aclrtGetCurrentContext(context: *mut usize) -> i32;
    fn aclrtCtxGetCurrentDefaultStream(stream: *mut usize) -> i32;
    fn aclrtDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> i32;

    fn aclrtCreateStream(stream: *mut usize) -> i32;
    fn aclrtCreateStreamWithConfig(stream: *mut usize, priority: u32, flags: u32) -> i32;
    fn aclrtDestroyStream(stream: usize) -> i32;
    fn aclrtDestroyStreamForce(stream: usize) -> i32;
    fn aclrtSynchronizeStream(stream: usize) -> i32;
    fn aclrtSynchronizeStreamWithTimeout(stream: usize, milliseconds: i32) -> i32;
    fn aclrtStreamQuery(stream: usize, status: *mut u32) -> i32;
    fn aclrtStreamAbort(stream: usize) -> i32;
    fn aclrtStreamGetId(stream: usize, id: *mut i32) -> i32;
    fn aclrtGetStreamAvailableNum(count: *mut u32) -> i32;
    fn aclrtSetStreamFailureMode(stream: usize, mode: u64) -> i32;
    fn aclrtStreamGetPriority(stream: usize, priority: *mut u32) -> i32;
    fn aclrtStreamGetFlags(stream: usize, flags: *mut u32) -> i32;

    fn aclrtCreateEvent(event: *mut usize) -> i32;
    fn aclrtCreateEventWithFlag(event: *mut usize, flag: u32) -> i32;
    fn aclrtCreateEventExWithFlag(event: *mut usize, flag: u32) -> i32;
    fn aclrtDestroyEvent(event: usize) -> i32;
    fn aclrtRecordEvent(event: usize, stream: usize) -> i32;
    fn aclrtRecordEventWithFlag(event: usize, stream: usize, flag: u32) -> i32;
    fn aclrtStreamWaitEvent(stream: usize, event: usize) -> i32;
    fn aclrtStreamWaitEventWithTimeout(stream: usize, event: usize, seconds: i32) -> i32;
    fn aclrtStreamWaitEventWithFlag(stream: usize, event: usize, seconds: u32, flag: u32) -> i32;
    fn aclrtResetEvent(event: usize, stream: usize) -> i32;
    fn aclrtQueryEvent(event: usize, status: *mut u32) -> i32;
    fn aclrtQueryEventStatus(event: usize, status: *mut u32) -> i32;
    fn aclrtQueryEventWaitStatus(event: usize, status: *mut u32) -> i32;
    fn aclrtSynchronizeEvent(event: usize) -> i32;
    fn aclrtSynchronizeEventWithTimeout(event: usize, milliseconds: i32) -> i32;
    fn aclrtEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) -> i32;
    fn aclrtEventGetTimestamp(event: usize, microseconds: *mut u64) -> i32;
    fn aclrtSetOpWaitTimeout(seconds: u32) -> i32;
    fn aclrtGetEventId(event: usize, id: *mut u32) -> i32;
    fn aclrtGetEventAvailNum(count: *mut u32) -> i32;

    fn aclrtCreateNotify(notify: *mut usize, flag: u64) -> i32;
    fn aclrtDestroyNotify(notify: usize) -> i32;
    fn aclrtRecordNotify(notify: usize, stream: usize) -> i32;
    fn aclrtWaitAndResetNotify(notify: usize, stream: usize, seconds: u32) -> i32;
    fn aclrtGetNotifyId(notify: usize, id: *mut u32) -> i32;

    fn aclrtValueWrite(address: usize, value: u64, flag: u32, stream: usize) -> i32;
    fn aclrtValueWait(address: usize, value: u64, flag: u32, stream: usize) -> i32;

    fn aclrtMalloc(address: *mut usize, bytes: usize, policy: u32) -> i32;
    fn aclrtFree(address: usize) -> i32;
    fn aclrtMallocHost(address: *mut *mut c_void, bytes: usize) -> i32;
    fn aclrtFreeHost(address: *mut c_void) -> i32;
    fn aclrtGetMemInfo(attribute: u32, free: *mut usize, total: *mut usize) -> i32;
    fn aclrtMemcpy(to: usize, most: usize, from: usize, bytes: usize, kind: u32) -> i32;
    fn aclrtMemcpyAsync(
        to: usize, most: usize, from: usize, bytes: usize, kind: u32, stream: usize,
    ) -> i32;
    fn aclrtMemset(address: usize, most: usize, value: i32, bytes: usize) -> i32;
    fn aclrtMemsetAsync(
        address: usize, most: usize, value: i32, bytes: usize, stream: usize,
    ) -> i32;

    fn aclrtCmoAsync(address: usize, bytes: usize, kind: u32, stream: usize) -> i32;

    fn aclrtBinaryLoadFromFile(
        path: *const c_char, options: *const c_void, binary: *mut usize,
    ) -> i32;
    fn aclrtBinaryLoadFromData(
        data: *const c_void, bytes: usize, options: *const c_void, binary: *mut usize,
    ) -> i32;
    fn aclrtBinaryUnLoad(binary: usize) -> i32;
    fn aclrtBinaryGetFunction(binary: usize, name: *const c_char, function: *mut usize) -> i32;
    fn aclrtLaunchKernelWithHostArgs(
        function: usize, blocks: u32, stream: usize, config: *const LaunchConfig,
        arguments: *mut c_void, bytes: usize, places: *const c_void, place_count: usize,
    ) -> i32;
    fn aclrtSetOpExecuteTimeOut(seconds: u32) -> i32;

    fn aclrtLaunchHostFunc(stream: usize, function: HostFunction, argument: *mut c_void) -> i32;

    fn aclmdlRICaptureBegin(stream: usize, mode: u32) -> i32;
    fn aclmdlRICaptureEnd(stream: usize, graph: *mut usize) -> i32;
    fn aclmdlRICaptureGetInfo(stream: usize, status: *mut u32, graph: *mut usize) -> i32;
    fn aclmdlRICaptureThreadExchangeMode(mode: *mut u32) -> i32;
    fn aclmdlRICaptureTaskGrpBegin(stream: usize) -> i32;
    fn aclmdlRICaptureTaskGrpEnd(stream: usize, group: *mut usize) -> i32;
    fn aclmdlRICaptureTaskUpdateBegin(stream: usize, group: usize) -> i32;
    fn aclmdlRICaptureTaskUpdateEnd(stream: usize) -> i32;
    fn aclmdlRIExecuteAsync(graph: usize, stream: usize) -> i32;
    fn aclmdlRIExecute(graph: usize, milliseconds: i32) -> i32;
    fn aclmdlRIDestroy(graph: usize) -> i32;

    fn HcclGetRootInfo(root: *mut RootInfo) -> u32;
    fn HcclCommInitRootInfo(
        ranks: u32, root: *const RootInfo, rank: u32, communicator: *mut usize,
    ) -> u32;
    fn HcclCommInitAll(count: u32, devices: *mut i32, communicators: *mut usize) -> u32;
    fn HcclCommDestroy(communicator: usize) -> u32;
    fn HcclGetCommAsyncError(communicator: usize, result: *mut i32) -> u32;
    fn HcclBarrier(communicator: usize, stream: usize) -> u32;
    fn HcclAllReduce(
        send: usize, receive: usize, count: u64, dtype: u32, reduce: u32, communicator: usize,
        stream: usize,
    ) -> u32;
    fn HcclReduceScatter(
        send: usize, receive: usize, count: u64, dtype: u32, reduce: u32, communicator: usize,
        stream: usize,
    ) -> u32;
    fn HcclAllGather(
        send: usize, receive: usize, count: u64, dtype: u32, communicator: usize, stream: usize,
    ) -> u32;
    fn HcclAlltoAll(
        send: usize, send_count: u64, send_dtype: u32, receive: usize, receive_count: u64,
        receive_dtype: u32, communicator: usize, stream: usize,
    ) -> u32;
    fn HcclBroadcast(
        buffer: usize, count: u64, dtype: u32, root: u32, communicator: usize, stream: usize,
    ) -> u32;
    fn HcclSend(
        send: usize, count: u64, dtype: u32, peer: u32, communicator: usize, stream: usize,
    ) -> u32;
    fn HcclRecv(
        receive: usize, count: u64, dtype: u32, peer: u32, communicator: usize, stream: usize,
    ) -> u32;

    fn aclrtSetDeviceResLimit(device: i32, kind: u32, value: u32) -> i32;
    fn aclrtGetDeviceResLimit(device: i32, kind: u32, value: *mut u32) -> i32;
    fn aclrtResetDeviceResLimit(device: i32) -> i32;
    fn aclrtSetStreamResLimit(stream: usize, kind: u32, value: u32) -> i32;
    fn aclrtGetStreamResLimit(stream: usize, kind: u32, value: *mut u32) -> i32;
    fn aclrtResetStreamResLimit(stream: usize) -> i32;
    fn aclrtUseStreamResInCurrentThread(stream: usize) -> i32;
    fn aclrtUnuseStreamResInCurrentThread(stream: usize) -> i32;
    fn aclrtGetResInCurrentThread(kind: u32, value: *mut u32) -> i32;
    fn aclrtGetThreadLastTaskId(task: *mut u32) -> i32;

    fn ascsimEmulatorConfigure(settings: *const c_char) -> i32;
    fn ascsimEmulatorNextTask(task: *const EmulatorTask) -> i32;
    fn ascsimEmulatorLaunch(stream: usize) -> i32;
    fn ascsimEmulatorRegisterKernel(
        name: *const c_char, function: EmulatorKernel, user: *mut c_void,
    ) -> i32;
    fn ascsimEmulatorTrace(records: *mut EmulatorRecord, most: usize, count: *mut usize) -> i32;
    fn ascsimEmulatorClock(nanoseconds: *mut u64) -> i32;
}

/// What the emulator's kernels run: arguments, their bytes, blocks, and the pointer registered.
pub type EmulatorKernel = unsafe extern "C" fn(*const c_void, usize, u32, *mut c_void);

/// What the next task that this thread queues is to look like (only our emulator has this).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EmulatorTask {
    /// Shown in the trace, to tell tasks apart.
    pub tag: u64,
    /// How long it takes alone, in ns.
    pub duration_ns: u64,
    /// Blocks on cube cores.
    pub aic: u32,
    /// Blocks on vector cores.
    pub aiv: u32,
    /// 1 if all blocks start at once.
    pub batch: u32,
    /// 0; reserved.
    pub reserved: u32,
}

/// One task that the emulator ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EmulatorRecord {
    /// The tag given for it, or 0.
    pub tag: u64,
    /// When it started, in ns of the emulator's clock.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The device.
    pub device: u32,
    /// The stream's id.
    pub stream: u32,
    /// A number for what it was.
    pub kind: u32,
    /// 0 or the error code with which it ended.
    pub code: u32,
}
