//! How profiles are shown.

mod findings;
mod numbers;
pub mod page;
pub mod table;
