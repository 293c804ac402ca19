//! Error codes (facts/acl.md section 15).

use std::fmt;

/// What an ACL function returned: 0 is success, 107xxx a mistake of the caller, 207xxx a missing
/// resource or feature, 507xxx an error of the device or runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Code(pub i32);

macro_rules! codes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        impl Code {
            $(#[doc = $text] pub const $name: Self = Self($value);)*

            /// All that are listed, by name.
            pub const ALL: &[(&str, Self)] = &[$((stringify!($name), Self::$name)),*];

            /// What the code means, in a few words; none for one that is not listed.
            pub fn text(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    SUCCESS = 0, "success";
    INVALID_PARAM = 100_000, "invalid parameter";
    UNINITIALIZED = 100_001, "aclInit was not called";
    REPEAT_INITIALIZE = 100_002, "aclInit was called before";
    PARAM_INVALID = 107_000, "invalid parameter";
    INVALID_DEVICE = 107_001, "no such device";
    CONTEXT_NULL = 107_002, "the thread has no context";
    STREAM_CONTEXT = 107_003, "the stream belongs to another context";
    EVENT_TIMESTAMP_INVALID = 107_006, "the event has no time stamp";
    INVALID_HANDLE = 107_017, "invalid handle";
    WAIT_TIMEOUT = 107_019, "a wait timed out";
    TASK_TIMEOUT = 107_020, "a task timed out";
    DEVICE_TASK_ABORT = 107_022, "the tasks of the device were aborted";
    STREAM_ABORT = 107_023, "the stream was aborted";
    CAPTURE_DEPENDENCY = 107_024, "the event was recorded outside the capture";
    STREAM_UNJOINED = 107_025, "a captured stream did not return to the origin";
    MODEL_CAPTURED = 107_026, "the graph is being captured";
    STREAM_CAPTURED = 107_027, "the stream is being captured";
    EVENT_CAPTURED = 107_028, "the event was recorded in a capture";
    STREAM_NOT_CAPTURED = 107_029, "the stream is not being captured";
    CAPTURE_MODE_NOT_SUPPORT = 107_030, "the capture mode forbids the call";
    STREAM_CAPTURE_IMPLICIT = 107_031, "the default stream cannot be captured";
    CAPTURE_CONFLICT = 107_032, "the capture conflicts with another";
    TASK_GROUP_STATUS = 107_033, "task groups begin and end in turn";
    TASK_GROUP_INTERRUPTED = 107_034, "the task group was interrupted";
    CAPTURE_UNMATCHED = 107_036, "capture ends on the stream on which it began";
    MODEL_RUNNING = 107_037, "the graph is running";
    CAPTURE_WRONG_THREAD = 107_038, "capture ends on the thread on which it began";
    CAPTURE_MODE_BLOCK_ASYNC = 107_041, "the capture mode forbids pageable memory";
    FEATURE_NOT_SUPPORT = 207_000, "not supported";
    MEMORY_ALLOCATION = 207_001, "out of memory";
    RESOURCE_ALLOC_FAIL = 207_005, "out of resources";
    NO_PERMISSION = 207_006, "no permission";
    NO_EVENT_RESOURCE = 207_007, "out of events";
    NO_STREAM_RESOURCE = 207_008, "out of streams";
    NO_NOTIFY_RESOURCE = 207_009, "out of notifies";
    DEVICE_OOM = 207_018, "out of device memory";
    INTERNAL = 507_000, "internal error of the runtime";
    STREAM_TASK_FULL = 507_002, "the queue of the stream is full";
    STREAM_NOT_COMPLETE = 507_004, "the stream is not complete";
    TASK_TYPE_NOT_SUPPORT = 507_009, "the task type is not supported";
    LOST_HEARTBEAT = 507_010, "the device does not answer";
    MODEL_EXECUTE = 507_011, "the graph failed";
    AICORE_TIMEOUT = 507_014, "a kernel on cube cores timed out";
    AICORE_EXCEPTION = 507_015, "a kernel on cube cores failed";
    AICPU_EXCEPTION = 507_018, "a kernel on the AICPU failed";
    VECTOR_CORE_TIMEOUT = 507_034, "a kernel on vector cores timed out";
    VECTOR_CORE_EXCEPTION = 507_035, "a kernel on vector cores failed";
    STREAM_SYNC_TIMEOUT = 507_046, "synchronising the stream timed out";
    EVENT_SYNC_TIMEOUT = 507_047, "synchronising the event timed out";
    DEVICE_MEM_ERROR = 507_053, "memory error of the device";
    SUSPECT_REMOTE_ERROR = 507_057, "an error of a remote device is suspected";
    DRV_INTERNAL_ERROR = 507_899, "internal error of the driver";
    CAPTURE_INVALIDATED = 507_903, "the capture is invalid";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(f, "{} ({text})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_print_with_their_meaning() {
        assert_eq!(
            Code(507_046).to_string(),
            "507046 (synchronising the stream timed out)"
        );
        assert_eq!(Code(1).to_string(), "1");
    }
}
