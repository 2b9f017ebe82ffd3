//! The record of a measurement: JSON lines (docs/reference/record.md). `bench`, `simulation` and `validate` write
//! records; `report`, `compare`, `experiments` and `validate` read them.

mod conditions;
mod read;
mod schema;
pub mod write;

#[cfg(test)]
mod tests;

pub use conditions::COMMAND;
pub use read::{Record, links_agree, read};
pub use schema::*;
