//! A host that does not keep to the protocol: its headers are spoilt, repeated, dropped and made up.

use fishplate_engine::wire::{Body, Header, LandingRef, SendRef};
use fishplate_engine::{Envelope, MessageSeq};

use super::data::Data;
use super::frame::{Encoded, Frame, Load};
use super::ids::FlowId;
use super::world::World;
use crate::events::Random;

/// In a thousand frames, how many are tampered with: few enough to get far.
const TAMPERED: u64 = 20;
/// Longest payload that is made up.
const MOST_MADE_UP: u64 = 100_000;

impl World {
    /// A frame of a hostile host, or what becomes of it.
    pub(super) fn transmit_hostile(&mut self, flow: FlowId, header: Header, load: Load, len: u64) {
        if self.chance.below(1000) >= TAMPERED {
            self.flow(flow).push(Frame::new(Encoded::new(&header), load, len));
            return;
        }
        let header = match self.chance.below(5) {
            // Lost.
            0 => return,
            // Twice.
            1 => {
                self.flow(flow).push(Frame::new(Encoded::new(&header), load, len));
                header
            }
            2 => Header { ack: spoilt(&mut self.chance, header.ack.into()) as u32, ..header },
            3 => Header { credit: spoilt(&mut self.chance, header.credit.into()) as u32, ..header },
            _ => Header { body: made_up(&mut self.chance, header.body), ..header },
        };
        let len = u64::from(header.body.payload_len());
        let data = Data::blank(self.setup.contents, len);
        self.flow(flow).push(Frame::new(Encoded::new(&header), Load::Copied(data), len));
    }
}

/// A number near to a sensible one, or any.
fn spoilt(chance: &mut Random, sensible: u64) -> u64 {
    match chance.below(5) {
        0 => chance.any(),
        1 => chance.of_any_size(u64::MAX),
        2 => u64::MAX - chance.below(3),
        3 => sensible.wrapping_add(1 + chance.below(4)),
        _ => sensible.wrapping_sub(1 + chance.below(4)),
    }
}

/// A header of any kind, of which much may be right.
fn made_up(chance: &mut Random, like: Body) -> Body {
    let len = chance.of_any_size(MOST_MADE_UP) as u32;
    let long = spoilt(chance, u64::from(len));
    let (send, landing) = (SendRef(spoilt(chance, 1 << 32)), LandingRef(spoilt(chance, 1 << 32)));
    match like {
        Body::Eager { seq, envelope, data, prompt, .. } if chance.percent(50) => {
            let seq = MessageSeq(spoilt(chance, seq.0.into()) as u32);
            Body::Eager { seq, envelope, data, len, prompt }
        }
        Body::Request { seq, envelope, data, total, send } if chance.percent(50) => {
            let seq = MessageSeq(spoilt(chance, seq.0.into()) as u32);
            Body::Request { seq, envelope, data, total, send }
        }
        Body::Stripe { landing, offset, .. } if chance.percent(50) => {
            Body::Stripe { landing, offset: spoilt(chance, offset), len }
        }
        Body::Clear { send, landing, len } if chance.percent(50) => {
            Body::Clear { send, landing, len: spoilt(chance, len) }
        }
        _ => match chance.below(7) {
            0 => Body::Clear { send, landing, len: long },
            1 => Body::Stripe { landing, offset: long, len },
            2 => Body::Write { write: send, key: long, address: spoilt(chance, 64), data: Some(1), len },
            3 => Body::Read { landing, key: long, address: spoilt(chance, 64), len: u64::from(len) },
            4 => {
                let seq = MessageSeq(chance.of_any_size(1 << 20) as u32);
                Body::Eager { seq, envelope: Envelope::Tagged(1), data: None, len, prompt: true }
            }
            5 => {
                let seq = MessageSeq(chance.of_any_size(1 << 20) as u32);
                Body::Request { seq, envelope: Envelope::Message, data: None, total: long, send }
            }
            _ => Body::Bye,
        },
    }
}
