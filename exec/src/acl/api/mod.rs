//! Safe calls.
#![expect(
    unsafe_code,
    reason = "calls of foreign functions; the argument stands at the macro and at each block"
)]

mod collective;
mod device;
mod emulator;
mod event;
mod graph;
mod kernel;
mod memory;
mod stream;

use std::ffi::{CStr, OsStr, OsString, c_char};

use super::raw::{Functions, Symbol};
use super::{AclError, Code};

pub use collective::{Communicator, Root};
pub use device::{Context, CoreKind};
pub use event::{Event, EventFlags, Notify, QueryStatus};
pub use graph::{Graph, GraphMode, TaskGroup};
pub use kernel::{Binary, Function};
pub use memory::{CmoKind, DeviceMemory, PinnedMemory};
pub use stream::{FailureMode, HostFunction, Stream, StreamFlags};

/// An opened ACL library.
///
/// All calls return [`AclError::Missing`] if the library lacks the function and [`AclError::Call`]
/// with its code and message if it fails.
#[derive(Debug)]
pub struct Acl {
    functions: Functions,
}

/// Declares handle types: opaque, not to be copied, usable on every thread.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, PartialEq, Eq)]
        pub struct $name(usize);

        impl $name {
            /// The handle as a number, for messages and for handing it to other users of the library.
            pub fn as_raw(&self) -> usize {
                self.0
            }

            /// Takes a handle over.
            ///
            /// # Safety
            /// It is a live handle of this kind from the library that it is used with, and whoever
            /// made it does not destroy it while this value or what was made from it is in use.
            pub unsafe fn from_raw(handle: usize) -> Self {
                Self(handle)
            }
        }
    )*};
}
use handles;

/// Calls a function that returns a code.
///
/// SAFETY of the expansion: all numbers and handles are passed by value; handles are live, since
/// their types cannot be copied and the calls that destroy take them; pointers to results are to
/// locals that outlive the call, and other pointers are argued for where they are made.
macro_rules! call {
    ($acl:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let acl: &Acl = $acl;
        // SAFETY: see the macro.
        let code = unsafe { acl.functions.$name($($argument),*) }?;
        // HCCL's codes have no sign.
        acl.check(stringify!($name), i64::from(code))
    }};
}
use call;

impl Acl {
    /// Opens the library at `path`, or else the one that `ASCSIM_ACL_LIB` names, or else
    /// `libascendcl.so`, or else `libacl_rt.so`. HCCL is looked for in `libhccl.so` besides.
    ///
    /// # Errors
    /// [`AclError::Open`] with what the loader said about each.
    pub fn open(path: Option<&OsStr>) -> Result<Self, AclError> {
        let named: Option<OsString> = path
            .map(OsStr::to_owned)
            .or_else(|| std::env::var_os("ASCSIM_ACL_LIB"));
        let candidates: Vec<&OsStr> = match &named {
            Some(path) => vec![path],
            None => vec![OsStr::new("libascendcl.so"), OsStr::new("libacl_rt.so")],
        };
        // The compatibility library forwards only a part; HCCL and the rest are beside it.
        let more = ["libacl_rt.so", "libhccl.so"].map(OsStr::new);
        let more = if named.is_none() {
            &more[..]
        } else {
            &more[1..]
        };
        Ok(Self {
            functions: Functions::open(&candidates, more)?,
        })
    }

    /// The name or path of the library.
    pub fn library(&self) -> &str {
        self.functions.name()
    }

    /// Whether the library has a function.
    pub fn has(&self, symbol: Symbol) -> bool {
        self.functions.has(symbol)
    }

    fn check(&self, function: &'static str, code: i64) -> Result<(), AclError> {
        if code == 0 {
            return Ok(());
        }
        let code = i32::try_from(code).unwrap_or(i32::MAX);
        let message = self.recent_message().unwrap_or_default();
        Err(AclError::Call {
            function,
            code: Code(code),
            message,
        })
    }

    /// What `aclGetRecentErrMsg` has to say on this thread; reading it clears it.
    pub fn recent_message(&self) -> Option<String> {
        // SAFETY: takes nothing, and returns null or a text that stays valid until this thread's
        // next call.
        unsafe { text(self.functions.aclGetRecentErrMsg().ok()?) }
    }

    /// Initialises ACL; that it was done before is no error.
    pub fn init(&self) -> Result<(), AclError> {
        match call!(self, aclInit(std::ptr::null())) {
            Err(error) if error.code() == Some(Code::REPEAT_INITIALIZE) => Ok(()),
            other => other,
        }
    }

    /// Ends ACL. Not to be called from a destructor of a static (facts/acl.md section 1).
    pub fn finalize(&self) -> Result<(), AclError> {
        call!(self, aclFinalize())
    }

    /// The name of the chip.
    pub fn soc_name(&self) -> Result<String, AclError> {
        let function = Symbol::aclrtGetSocName.name();
        // SAFETY: takes nothing, and returns null or a text that stays valid until the next call.
        let name = unsafe { text(self.functions.aclrtGetSocName()?) };
        name.ok_or_else(|| AclError::Call {
            function,
            code: Code::INTERNAL,
            message: self.recent_message().unwrap_or_default(),
        })
    }
}

/// A copy of a C text.
///
/// # Safety
/// `pointer` is null or points to a text that ends with a zero.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by the contract of this function.
    Some(
        unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned(),
    )
}

fn argument(function: &'static str, reason: impl Into<String>) -> AclError {
    AclError::Argument {
        function,
        reason: reason.into(),
    }
}
