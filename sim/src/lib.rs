//! Discrete-event simulation of schedules on Ascend devices.
//!
//! [`compile`] turns a schedule into a flat [`Compiled`] program; a [`Simulator`] runs it as often as
//! wanted with changed [`Times`] and [`Options`], and yields a [`Timeline`] or a [`Deadlock`];
//! [`CriticalPath`] and [`Blame`] say where the time went. Times are integers in ps. A [`Sampler`]
//! draws the variables that times depend on.
//!
//! # Rules
//!
//! 1. A stream is a FIFO; the gap to the next task depends on the two kinds ([`Gaps`]).
//! 2. A task starts when its predecessor has ended, the host has issued it and the issue has reached
//!    the device, and its waits are met.
//! 3. A wait ends its event latency after the record it is bound to. A wait for an `ex` or `default`
//!    event whose record had ended before the wait was issued is never queued; one without a record
//!    is dropped; `sync` and `external` events are flags that stay set until they are reset; a notify
//!    is a flag that one wait takes (facts/acl.md sections 3 to 5).
//! 4. With [`EngineModel::Exclusive`], AIC and AIV hold one kernel at a time each. Whenever an engine
//!    is free, the lowest issue index among the ready kernels that fit takes it. With
//!    [`EngineModel::Shared`], the blocks of a kernel are handed to free cores as they come, to the
//!    lowest issue index first; one in batch mode starts with all its blocks at once. Running blocks
//!    share the bandwidth of their [`Die`] max-min fair by task, each at most at its own rate.
//! 5. (rule 7 of the design) A collective starts on each rank by itself and holds its engine from
//!    then on; it ends everywhere when the last member has started and the transfer is done.
//!    Members on external ranks are taken to never delay it.
//! 6. (rule 8) A host thread makes its calls one after the other. A call costs host time; a graph
//!    launch costs it once for the whole graph; a synchronisation or blocking copy holds the thread;
//!    a full stream queue holds the call until there is room. (A bound event wait counts as an entry
//!    even where it turns out not to be queued, so that room is never found too early.)
//! 7. (rule 9) The parts of a super kernel run back to back, without gaps. Those of a group run as
//!    soon as the parts they come after have ended. Both take one place on their stream.
//! 8. Two launches of one graph run one after the other.
//! 9. (rule 10) If nothing can go on and something is unfinished, the result is a [`Deadlock`] that
//!    names the cycle.
//!
//! What happens at the same time happens in the order of rank and issue index; cores are handed out
//! after everything else of that instant.

pub mod attribute;

mod blame;
mod compile;
mod compiled;
mod costs;
mod critical;
mod deadlock;
mod engine;
mod hardware;
mod load;
mod sample;
mod simulate;
mod timeline;
mod times;

pub use blame::{Blame, Category};
pub use compile::{CompileError, TimeError, Values, compile, compile_with};
pub use compiled::{Assumption, Compiled, Reason};
pub use costs::{EngineModel, Gaps, HostCosts, Latencies, Options, TaskKind};
pub use critical::{CriticalPath, Part, Segment};
pub use deadlock::{Blocked, Deadlock, Held, Never};
pub use engine::{SimError, Simulator, Usage};
pub use load::{Die, Engine, Resource};
pub use sample::{Draw, SampleError, Sampler};
pub use simulate::{SimulateError, Simulation, named, simulate};
pub use timeline::{Origin, Timeline};
pub use times::{TimeField, Times};
