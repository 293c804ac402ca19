//! What the checker must know of a chip.

use serde::{Deserialize, Serialize};

/// Limits of one die and its runtime, as far as the checker needs them. Hardware profiles fill it;
/// the default is the full 910C die (Atlas A3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Cube cores. 24 (facts/acl.md section 0).
    pub aic: u32,
    /// Vector cores. 48 (facts/acl.md section 0).
    pub aiv: u32,
    /// AICPU cores that collectives may hold; the graphs with AICPU collectives that may run at
    /// once. 6 (facts/collectives.md section 3.4).
    pub aicpu_graphs: u32,
    /// Tasks a stream's queue takes before the issuing thread blocks. 1,900, the planning value of
    /// facts/acl.md section 0.
    pub queue_tasks: u32,
    /// Submission entries that one value wait takes. 4 (facts/acl.md section 5).
    pub value_wait_entries: u32,
    /// Streams of a device. 1,984 (facts/acl.md section 0).
    pub streams: u32,
    /// `sync` and `external` events of a device. 65,536 (facts/acl.md section 0).
    pub events: u32,
    /// Notifies of a device. 8,192 (facts/acl.md section 0).
    pub notifies: u32,
    /// Arguments of a kernel launch. 128 (facts/acl.md section 8).
    pub launch_arguments: u32,
    /// Device streams of a communicator that the AICPU expands. 40 (facts/collectives.md 3.2).
    pub aicpu_communicator_streams: u32,
    /// Device notifies of such a communicator. 64 (facts/collectives.md 3.2).
    pub aicpu_communicator_notifies: u32,
    /// L2 cache in bytes, for prefetch rules; 0 if unknown.
    pub l2_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            aic: 24,
            aiv: 48,
            aicpu_graphs: 6,
            queue_tasks: 1_900,
            value_wait_entries: 4,
            streams: 1_984,
            events: 65_536,
            notifies: 8_192,
            launch_arguments: 128,
            aicpu_communicator_streams: 40,
            aicpu_communicator_notifies: 64,
            l2_bytes: 0,
        }
    }
}
