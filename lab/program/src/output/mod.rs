//! Building blocks of all output; the `print` folders and commands use these, which use nothing of theirs.
//!
//! [`text`]: tables and numbers for a terminal. [`page`]: pages for a browser, with axes, charts and colours. [`nearest`]: names
//! that were probably meant, for messages. [`terminal`]: what everything that is printed passes. [`markdown`]: tables in
//! texts.

pub mod markdown;
pub mod nearest;
pub mod page;
pub mod terminal;
pub mod text;
