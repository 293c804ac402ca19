//! The schedule IR.
