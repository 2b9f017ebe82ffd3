//! The papers' rows: found by simulation, then held against the table of what was published.

mod facts;
mod judge;
mod lab;
mod rows;
mod sensitivity;

pub use facts::{Check, FACTS, Fact, Kind, read as read_facts};
pub use judge::{Judged, JudgedCheck, judge, number, tally};
pub use lab::{Curve, Lab, Ranks, Setting, Values};
pub use rows::{ROWS, Row, why_not};
pub use sensitivity::{Flip, Varied, sensitivity};
