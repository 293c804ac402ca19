//! An emulator of Ascend devices behind the C ABI of ACL.
//!
//! The executor loads it as it loads CANN's library. It keeps to the rules of facts/acl.md that a
//! caller can see, and is the slow, exact counterpart that the `acl` backend is tested on.
//!
//! * The core is safe Rust: one `World` under one lock; handles are keys of tables.
//! * `raw` holds what must touch memory by address; `abi` is the C ABI. Both say why each
//!   unsafe block is sound. No panic crosses the ABI.
//!
//! # What is deliberately absent
//! Numerics of kernels (a kernel runs a host function that the user registered, or nothing), AICPU
//! and SDMA occupancy, other processes, and the parts of ACL that the executor does not call.
//!
//! Settings: `ASCSIM_EMULATOR=clock=virtual,devices=2,…`; see the source of `config`.

pub mod abi;
mod capture;
mod collective;
mod config;
mod cores;
mod emulator;
mod engine;
mod event;
mod fault;
mod kernel;
mod memory;
mod raw;
mod runtime;
mod signal;
mod table;
mod task;
mod world;
