//! Error codes of ACL (facts/acl.md section 15).

use std::fmt;

/// An error code of ACL. Codes 107xxx are the caller's fault, 207xxx lack a resource or feature,
/// 507xxx come from the device or runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AclError(pub i32);

macro_rules! codes {
    ($($code:literal $name:ident,)*) => {
        #[expect(missing_docs, reason = "the names are ACL's")]
        impl AclError {
            $(pub const $name: Self = Self($code);)*

            /// The name of the code, without ACL's prefix; none for codes that are not listed.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    100000 INVALID_PARAM,
    100002 REPEAT_INITIALIZE,
    107000 PARAM_INVALID,
    107001 INVALID_DEVICEID,
    107002 CONTEXT_NULL,
    107003 STREAM_CONTEXT,
    107006 EVENT_TIMESTAMP_INVALID,
    107017 INVALID_HANDLE,
    107019 WAIT_TIMEOUT,
    107020 TASK_TIMEOUT,
    107022 DEVICE_TASK_ABORT,
    107023 STREAM_ABORT,
    107024 CAPTURE_DEPENDENCY,
    107025 STREAM_UNJOINED,
    107026 MODEL_CAPTURED,
    107027 STREAM_CAPTURED,
    107028 EVENT_CAPTURED,
    107029 STREAM_NOT_CAPTURED,
    107030 CAPTURE_MODE_NOT_SUPPORT,
    107031 STREAM_CAPTURE_IMPLICIT,
    107032 CAPTURE_CONFLICT,
    107036 CAPTURE_UNMATCHED,
    107037 MODEL_RUNNING,
    107038 CAPTURE_WRONG_THREAD,
    107041 CAPTURE_MODE_BLOCK_ASYNC,
    207000 FEATURE_NOT_SUPPORT,
    207001 MEMORY_ALLOCATION,
    207005 RESOURCE_ALLOC_FAIL,
    207006 NO_PERMISSION,
    207007 NO_EVENT_RESOURCE,
    207008 NO_STREAM_RESOURCE,
    207009 NO_NOTIFY_RESOURCE,
    207018 DEVICE_OOM,
    507000 INTERNAL,
    507002 STREAM_TASK_FULL,
    507004 STREAM_NOT_COMPLETE,
    507009 TASK_TYPE_NOT_SUPPORT,
    507010 LOST_HEARTBEAT,
    507011 MODEL_EXECUTE,
    507014 AICORE_TIMEOUT,
    507015 AICORE_EXCEPTION,
    507018 AICPU_EXCEPTION,
    507034 VECTOR_CORE_TIMEOUT,
    507035 VECTOR_CORE_EXCEPTION,
    507046 STREAM_SYNC_TIMEOUT,
    507047 EVENT_SYNC_TIMEOUT,
    507053 DEVICE_MEM_ERROR,
    507057 SUSPECT_REMOTE_ERROR,
    507899 DRV_INTERNAL_ERROR,
    507903 CAPTURE_INVALIDATED,
}

impl fmt::Display for AclError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} {name}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for AclError {}
