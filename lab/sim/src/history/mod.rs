//! Earlier traffic must not matter: a pattern after each of several histories takes as long as after the best of them.
//!
//! A [`Case`] is a pattern, rails, a delay and a size; with one of the [`Before`]s it is a cell of the table. In each cell
//! two hosts that know nothing of each other begin with the history, then run the pattern for a bounded number of messages,
//! and then it is timed. The same case over the best of its rails alone, and what rates and processors allow, stand beside
//! it.

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
pub(crate) use selection::or_all;
pub use table::{Row, Summary, header, judge, summary};

use crate::testbed::Testbed;

/// Bytes on the wire for a byte of payload of [`shaped`] rails.
pub(crate) const SHAPED_ON_WIRE: f64 = machine::PACKET.1 / machine::PACKET.0;

/// The machine of the table with shaped rails of these rates in Mbit/s.
///
/// # Errors
/// When the testbed that it is made of is not as it was.
pub(crate) fn shaped(mbit: &[u32]) -> Result<Testbed, String> {
    machine::testbed(&Case { pattern: Pattern::Exchange, rails: mbit.to_vec(), delay_us: 0, size: 1 })
}
