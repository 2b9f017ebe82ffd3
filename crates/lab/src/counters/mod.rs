//! Per-rail counters of processes that use Fishplate, for commands and benchmarks.
//!
//! [`stats_file`]: totals that processes leave at their end. [`live`]: what running processes show at the moment.

pub mod live;
pub mod stats_file;
