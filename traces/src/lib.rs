//! Readers of Ascend profiler output.
