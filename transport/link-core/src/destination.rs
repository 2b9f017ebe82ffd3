//! The place of a payload that is being received.

use fishplate_engine::{BounceId, Payload, Placement};

use crate::bounce_buffers::BounceBuffers;
use crate::sys::memory::UserMemory;

/// Where the payload that is being received goes.
#[derive(Debug, Default)]
pub enum Destination {
    /// User memory.
    User(Payload),
    /// A bounce buffer.
    Bounce(BounceId),
    /// Nowhere.
    #[default]
    Discard,
}

impl Destination {
    /// As the engine says.
    #[inline]
    pub fn open(placement: Placement, bounces: &mut BounceBuffers) -> Destination {
        match placement {
            Placement::User(payload) => Destination::User(payload),
            Placement::Discard => Destination::Discard,
            Placement::Bounce(id) => {
                bounces.open(id);
                Destination::Bounce(id)
            }
        }
    }

    /// Places bytes at offset `at` of the payload.
    #[inline]
    pub fn put(&self, at: u64, bytes: &[u8], memory: &UserMemory, bounces: &mut BounceBuffers) {
        match self {
            Destination::User(place) => memory.write(place, at, bytes),
            Destination::Bounce(id) => {
                if let Some(buffer) = bounces.get_mut(*id) {
                    buffer.extend_from_slice(bytes);
                }
            }
            Destination::Discard => {}
        }
    }
}
