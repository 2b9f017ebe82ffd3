//! The record of a measurement: JSON lines, one a thing that was found out (docs/record.md).

mod read;
mod schema;
#[cfg_attr(not(test), expect(dead_code, reason = "`fishplate bench`, which appends to records, is not there yet"))]
pub mod write;

#[cfg(test)]
mod tests;

pub use read::{Record, links_agree, read};
pub use schema::*;
