//! The results of the demonstration: a [`table`] for the terminal, and a [`page`] with its [`chart`]s.

pub mod chart;
pub mod page;
pub mod table;
