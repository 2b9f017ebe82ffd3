//! The papers' rows: found by simulation, then held against the table of what was published.

mod applications;
mod experiments;
mod judge;
mod published;
mod rows;
mod sensitivity;

pub use experiments::{Curve, Experiments, Ranks, Setting, Values};
pub use judge::{Judged, JudgedCheck, Tallies, Tally, judge, number, tally};
pub use published::{Check, FACTS, Fact, Kind, read as read_facts};
pub use rows::{ROWS, Row};
pub use sensitivity::{Chosen, Flip, Reach, Varied, sensitivity};
