//! The record of a measurement: JSON lines, one a thing that was found out (docs/record.md).

mod read;
mod schema;
pub mod write;

#[cfg(test)]
mod tests;

pub use read::{Record, links_agree, read};
pub use schema::*;
