//! The ACL C API as far as it is called: our own declarations, looked up when they are first used,
//! behind safe calls.
//!
//! * `raw`: prototypes and look-up.
//! * [`Acl`]: the calls. A handle is a value that cannot be copied: what destroys an object takes its
//!   handle, so that safe code cannot use it afterwards.
//!
//! Work of the device is outside of what Rust knows: device memory is addressed by number, and
//! whoever frees memory that queued tasks still use gets a device error or wrong bytes on the device
//! (facts/acl.md section 6). Host memory that the device writes is pinned memory, which this module
//! reads and writes by copying.

mod api;
mod code;
mod error;
#[cfg(feature = "bindgen")]
pub mod headers;
mod probe;
pub mod raw;
pub mod value;

pub use api::{
    Acl, Binary, CmoKind, Communicator, Context, CoreKind, DeviceMemory, Event, EventFlags,
    FailureMode, Function, Graph, GraphMode, HostFunction, Notify, PinnedMemory, QueryStatus, Root,
    Stream, StreamFlags, TaskGroup,
};
pub use code::Code;
pub use error::AclError;
pub use probe::{Capabilities, Capability};
