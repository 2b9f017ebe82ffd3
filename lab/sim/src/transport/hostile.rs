//! A host that does not keep to the protocol: its headers are spoilt, repeated, dropped and made up, and it lets
//! go of what has to stay.

use fishplate_engine::wire::{Body, Header};

use super::data::Data;
use super::frame::{Encoded, Frame, Load};
use super::ids::LinkId;
use super::world::World;
use crate::events::Random;

/// In a thousand frames, how many are tampered with: few enough to get far.
const TAMPERED: u64 = 20;
/// Longest payload that is made up.
const MAX_FORGED_PAYLOAD: u64 = 100_000;
/// Numbers that the kind of a made-up frame is drawn from: 0, the 22 kinds, and one that there is not.
const KINDS: u64 = 24;

impl World {
    /// A frame of a hostile host, or what becomes of it.
    pub(super) fn transmit_hostile(&mut self, flow: LinkId, header: Header, load: Load, len: u64) {
        let encoded = Encoded::new(&header);
        let way = self.chance.below(5);
        if self.chance.below(1000) >= TAMPERED {
            self.push(flow, Frame::new(encoded, load, len));
            return;
        }
        match way {
            // Lost.
            0 => {}
            // Twice.
            1 => {
                let data = Data::blank(self.setup.contents, len);
                self.push(flow, Frame::new(encoded, load, len));
                self.push(flow, Frame::new(encoded, Load::Copied(data), len));
            }
            // Behind a LEAVE, which it does not keep to, or which may not be said of this connection.
            2 => {
                let leave = Encoded::new(&Header { body: Body::Leave, ..header });
                let nothing = Data::blank(self.setup.contents, 0);
                self.push(flow, Frame::new(leave, Load::Copied(nothing), 0));
                self.push(flow, Frame::new(encoded, load, len));
            }
            // Another, instead.
            _ => {
                let spoilt = encoded.spoilt(|bytes| spoil(&mut self.chance, bytes));
                let len = spoilt.header().map_or(0, |header| u64::from(header.body.payload_len()));
                let data = Data::blank(self.setup.contents, len);
                self.push(flow, Frame::new(spoilt, Load::Copied(data), len));
            }
        }
    }
}

/// Changes some of the numbers in a header (docs/internals/wire.md): four of 32 bits, then some of 64.
fn spoil(chance: &mut Random, bytes: &mut [u8]) {
    for _ in 0..1 + chance.below(3) {
        match chance.below(8) {
            0 => bytes[0] = chance.below(KINDS) as u8,
            1 => bytes[1] ^= 1 << chance.below(4),
            2 => {
                let len = chance.of_any_size(MAX_FORGED_PAYLOAD) as u32;
                bytes[4..8].copy_from_slice(&len.to_le_bytes());
            }
            3 => spoil_word(chance, &mut bytes[8..12]),
            4 => spoil_word(chance, &mut bytes[12..16]),
            _ => {
                let at = 16 + 8 * chance.below(5) as usize;
                spoil_word(chance, &mut bytes[at..at + 8]);
            }
        }
    }
}

/// Puts a number near to the right one there, or any.
fn spoil_word(chance: &mut Random, word: &mut [u8]) {
    let mut right = [0; 8];
    right[..word.len()].copy_from_slice(word);
    let right = u64::from_le_bytes(right);
    let spoilt = match chance.below(5) {
        0 => chance.any(),
        1 => chance.of_any_size(u64::MAX),
        2 => u64::MAX - chance.below(3),
        3 => right.wrapping_add(1 + chance.below(4)),
        _ => right.wrapping_sub(1 + chance.below(4)),
    };
    word.copy_from_slice(&spoilt.to_le_bytes()[..word.len()]);
}
