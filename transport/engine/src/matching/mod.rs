//! Matching: which message goes into which receive.
//!
//! [`posted`] holds receives that wait for messages, [`unexpected`] the order of messages that wait for receives,
//! [`unmatched`] the received part of a message without a receive, [`receive`] a receive before and after its match,
//! [`reassembly`] a matched message while it is being placed, [`completion_order`] the order in which some are reported. Called
//! by the engine; nothing here knows of subchannels.
//!
//! Receives and messages are found by hash ([`chains`]). A pattern can ignore bits of the tag, and the source, so there is a hash
//! for each [`class`] in use of patterns that ignore the same bits; these are few. Of several receives that accept a message the
//! oldest takes it, and a receive takes the oldest of several messages.

mod chains;
mod class;
pub mod completion_order;
pub mod posted;
pub mod reassembly;
pub mod receive;
pub mod unexpected;
pub mod unmatched;

use crate::envelope::Envelope;
use crate::ids::VcId;
use crate::request::{Pattern, Space};

impl Pattern {
    /// Whether a message from `source` with `envelope` matches.
    pub fn accepts(&self, source: VcId, envelope: Envelope) -> bool {
        let space = match (self.space, envelope) {
            (Space::Message, Envelope::Message) => true,
            (Space::Tagged { tag, ignore }, Envelope::Tagged(got)) => (tag ^ got) & !ignore == 0,
            _ => false,
        };
        space && self.source.is_none_or(|wanted| wanted == source)
    }

    /// The envelope in completions without a message.
    pub fn envelope(&self) -> Envelope {
        match self.space {
            Space::Message => Envelope::Message,
            Space::Tagged { tag, .. } => Envelope::Tagged(tag),
        }
    }
}
