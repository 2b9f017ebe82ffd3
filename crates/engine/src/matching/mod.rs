//! Matching: which message goes into which receive.
//!
//! [`posted`] holds receives that wait for messages, [`unexpected`] the order of messages that wait for receives,
//! [`unmatched`] what has come of a message without a receive, [`taken`] a receive that has a message, [`reassembly`] the
//! message while it is being placed,
//! [`completion_order`] the order in which some are reported. Called by the engine; nothing here knows of subchannels.
//!
//! Receives and messages are found by hash ([`chains`]). A pattern can ignore bits of the tag, and the source, so there is
//! a hash for each [`class`] of patterns that ignore the same: of those in use, which are few. Where several receives
//! accept a message, the oldest takes it, and of several messages the oldest is taken.

mod chains;
mod class;
pub mod completion_order;
pub mod posted;
pub mod reassembly;
pub mod taken;
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

    /// The envelope that was asked for, for completions without a message.
    pub fn envelope(&self) -> Envelope {
        match self.space {
            Space::Message => Envelope::Message,
            Space::Tagged { tag, .. } => Envelope::Tagged(tag),
        }
    }
}
