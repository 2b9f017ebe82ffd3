//! What several tests need.

pub mod pair;
pub mod rng;

use fishplate_engine::{Engine, Instant, Payload, Region};

/// What `from` sends arrives at `to`.
pub fn carry(from: &mut Engine, to: &mut Engine, now: Instant) {
    while let Some(transmit) = from.poll_transmit(now) {
        to.handle_header(now, transmit.subchannel, &transmit.header).unwrap();
        if transmit.header.body.payload_len() > 0 {
            to.payload_placed(now, transmit.subchannel);
        }
    }
}

pub fn place(region: u64, len: u64) -> Payload {
    Payload::whole(Region(region), len)
}
