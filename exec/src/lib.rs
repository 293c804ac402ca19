//! Runs checked schedules on NPU streams through ACL.

pub mod acl;
