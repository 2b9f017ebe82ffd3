//! How it is shown: as a table with sentences, and as a page.

pub mod page;
mod sentences;
pub mod table;
