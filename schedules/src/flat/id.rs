//! Dense numbers of what a flat schedule consists of.

use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id with dense index `index`; indices end at 2^32 - 2.
            pub fn new(index: usize) -> Self {
                let index = u32::try_from(index).unwrap_or(u32::MAX - 1);
                // One up, so that an `Option` of it takes no more room.
                Self(NonZeroU32::MIN.saturating_add(index))
            }

            /// Its dense index, from 0.
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

ids! {
    /// An op instance, in order of rank and then issue.
    InstanceId;
    /// A stream instance: of a rank, or of a captured program on a rank.
    StreamId;
    /// A host thread of a rank.
    ThreadId;
    /// An event of a rank.
    EventId;
    /// A notify of a rank.
    NotifyId;
    /// A 64-bit word of a rank's memory that value ops use.
    WordId;
    /// A captured program on a rank.
    GraphId;
    /// One collective over all its members, or one send with its receive.
    CollectiveId;
}
