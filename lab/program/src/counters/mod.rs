//! Per-rail counters of processes that use Fishplate, for commands and benchmarks.
//!
//! [`stats_file`]: totals that processes leave at their end. [`live`]: what running processes show at the moment,
//! [`hidden`]: why they show nothing.

pub mod hidden;
pub mod live;
pub mod stats_file;
