//! Building blocks of all output; the `print` folders and commands use these, which use nothing of theirs.
//!
//! [`table`]: tables for all of them. [`text`]: numbers and texts for a terminal. [`page`]: pages for a browser, with axes, charts and colours. [`nearest`]: names
//! that were probably meant, for messages. [`terminal`]: what everything that is printed passes.

pub mod nearest;
pub mod page;
pub mod table;
pub mod terminal;
pub mod text;
