//! Names: how ops refer to what a schedule declares.

use std::borrow::Borrow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Any non-empty text; up to 23 bytes are stored without an allocation.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(transparent)]
        pub struct $name(#[schemars(with = "String")] SmolStr);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<SmolStr>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// The id of an op, unique within its program.
    OpId;
    /// The name of a [`Program`](super::Program).
    ProgramName;
    /// The name of a [`Stream`](super::Stream).
    StreamName;
    /// The name of a host thread; threads need no declaration.
    ThreadName;
    /// The name of an [`Event`](super::Event).
    EventName;
    /// The name of a [`Notify`](super::Notify).
    NotifyName;
    /// The name of a [`Buffer`](super::Buffer).
    BufferName;
    /// The name of a [`Communicator`](super::Communicator).
    CommunicatorName;
}

impl ThreadName {
    /// The thread that issues an op which names none: `main`.
    pub fn main() -> Self {
        Self(SmolStr::new_static("main"))
    }

    /// Whether this is [`ThreadName::main`].
    pub fn is_main(&self) -> bool {
        self.0 == "main"
    }
}

impl Default for ThreadName {
    fn default() -> Self {
        Self::main()
    }
}
