//! What running tasks used, for tests and reports.

use crate::load::RESOURCES;

/// So many units of a task held their cores and drew bandwidth evenly for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// The instance.
    pub instance: u32,
    /// How many of its units; 0 if it takes no cores.
    pub units: u32,
    /// From when, in ps.
    pub from: u64,
    /// Until when, in ps.
    pub to: u64,
    /// What they drew of each resource in bytes per ps, by [`Resource`](crate::Resource).
    pub rates: [f64; RESOURCES],
}
