//! How profiles are shown.

mod findings;
pub mod page;
pub mod table;
