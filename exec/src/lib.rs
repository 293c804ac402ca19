//! Runs checked schedules on NPU streams through ACL.
//!
//! A [`Checked`] schedule is one that its certificate admits. It is compiled into a [`Plan`], once;
//! an [`Executor`] hands the plan's steps to a [`Backend`], either one by one in each step of the
//! model (eager) or as graphs that were captured once.
//!
//! # Rules
//!
//! 1. Nothing is submitted that was not checked: wrong hash, findings of severity error, another
//!    device class, or fewer resources than certified are refused before the first task.
//! 2. The ops of a rank are submitted in list order, and those of all ranks in one order in which an
//!    op that others wait for comes before the waits, as far as the schedule allows. Where it does
//!    not (collectives), at most [`Limits::queue_tasks`](ascsim_schedules::Limits::queue_tasks)
//!    entries of a queue wait for something that is not submitted yet.
//! 3. So the submitting thread, when a queue is full, waits for the device only, never for itself.
//! 4. A step ends with every stream empty, or with an error and every stream aborted.
//!
//! # What is deliberately absent
//! The simulator, and any decision about the schedule: it runs as it was checked or not at all.

pub mod acl;
mod backend;
mod checked;
mod executor;
pub mod ffi;
mod plan;
pub mod profile;

pub use backend::{
    AclBackend, Backend, BackendError, Bindings, Callback, DeviceInfo, NullBackend, TaskSpan,
};
pub use checked::{Checked, Refusal};
pub use executor::{Executor, Mode, Observer, RunError, Silent};
pub use plan::{
    BufferSpec, CollectiveCall, Command, CommunicatorSpec, EventSpec, GraphSpec, KernelArgument,
    KernelSpec, Place, Plan, PlanError, PlanErrorKind, RankSpec, Resources, Shape, Step,
    StreamSpec,
};
