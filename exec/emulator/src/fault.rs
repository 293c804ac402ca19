//! Errors of calls and tasks, with the codes of facts/acl.md section 15.

/// The codes that the emulator returns.
pub(crate) mod code {
    pub(crate) const INVALID_PARAM: i32 = 100_000;
    pub(crate) const UNINITIALIZED: i32 = 100_001;
    pub(crate) const REPEAT_INITIALIZE: i32 = 100_002;
    pub(crate) const PARAM_INVALID: i32 = 107_000;
    pub(crate) const INVALID_DEVICE: i32 = 107_001;
    pub(crate) const CONTEXT_NULL: i32 = 107_002;
    pub(crate) const STREAM_CONTEXT: i32 = 107_003;
    pub(crate) const EVENT_TIMESTAMP_INVALID: i32 = 107_006;
    pub(crate) const INVALID_HANDLE: i32 = 107_017;
    pub(crate) const WAIT_TIMEOUT: i32 = 107_019;
    pub(crate) const STREAM_ABORT: i32 = 107_023;
    pub(crate) const CAPTURE_DEPENDENCY: i32 = 107_024;
    pub(crate) const STREAM_UNJOINED: i32 = 107_025;
    pub(crate) const STREAM_CAPTURED: i32 = 107_027;
    pub(crate) const EVENT_CAPTURED: i32 = 107_028;
    pub(crate) const STREAM_NOT_CAPTURED: i32 = 107_029;
    pub(crate) const CAPTURE_MODE_NOT_SUPPORT: i32 = 107_030;
    pub(crate) const STREAM_CAPTURE_IMPLICIT: i32 = 107_031;
    pub(crate) const CAPTURE_CONFLICT: i32 = 107_032;
    pub(crate) const TASK_GROUP_STATUS: i32 = 107_033;
    pub(crate) const TASK_GROUP_INTERRUPTED: i32 = 107_034;
    pub(crate) const CAPTURE_UNMATCHED: i32 = 107_036;
    pub(crate) const MODEL_RUNNING: i32 = 107_037;
    pub(crate) const CAPTURE_WRONG_THREAD: i32 = 107_038;
    pub(crate) const CAPTURE_MODE_BLOCK_ASYNC: i32 = 107_041;
    pub(crate) const FEATURE_NOT_SUPPORT: i32 = 207_000;
    pub(crate) const MEMORY_ALLOCATION: i32 = 207_001;
    pub(crate) const NO_EVENT_RESOURCE: i32 = 207_007;
    pub(crate) const NO_STREAM_RESOURCE: i32 = 207_008;
    pub(crate) const NO_NOTIFY_RESOURCE: i32 = 207_009;
    pub(crate) const INTERNAL: i32 = 507_000;
    pub(crate) const AICORE_TIMEOUT: i32 = 507_014;
    pub(crate) const AICPU_EXCEPTION: i32 = 507_018;
    pub(crate) const VECTOR_CORE_TIMEOUT: i32 = 507_034;
    pub(crate) const STREAM_SYNC_TIMEOUT: i32 = 507_046;
    pub(crate) const EVENT_SYNC_TIMEOUT: i32 = 507_047;
    pub(crate) const DEVICE_MEM_ERROR: i32 = 507_053;
}

/// Why a call or task failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: i32,
    pub(crate) message: String,
}

/// The outcome of a call.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

impl Fault {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The outcome that this fault is.
    pub(crate) fn err<T>(code: i32, message: impl Into<String>) -> Outcome<T> {
        Err(Self::new(code, message))
    }
}
