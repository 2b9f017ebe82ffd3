//! Earlier traffic must not matter: a pattern after each of several histories takes as long as after the best of them.
//!
//! A [`Case`] is a pattern, rails, a delay and a size; with one of the [`Before`]s it is a cell of the table. In each cell
//! two hosts that know nothing of each other begin with the history, then run the pattern for a bounded number of messages,
//! and then it is timed. The same case over the best of its rails alone, and what rates and processors allow, stand beside
//! it.

mod allowed;
mod before;
mod case;
mod machine;
mod measure;
mod pattern;
mod repeat;
mod selection;
mod table;

pub use before::Before;
pub use case::Case;
pub use pattern::Pattern;
pub use selection::Selection;
pub use table::{Row, Summary, header, judge, summary};
