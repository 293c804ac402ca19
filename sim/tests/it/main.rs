//! Tests of the simulator on whole schedules.

mod arbitrary;
mod attribution;
mod contention;
mod laws;
mod notation;
mod order;
mod paths;
mod reference;
mod rules;
mod samples;
