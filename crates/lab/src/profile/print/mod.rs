//! How profiles are shown.

mod findings;
mod numbers;
pub mod table;
