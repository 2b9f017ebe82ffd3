//! A validation as text ([`table`]) and as a page ([`page`]).

pub mod page;
pub mod table;
