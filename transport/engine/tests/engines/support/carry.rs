//! Frames from one engine to another, by hand.

use fishplate_engine::{Engine, Instant};

/// What `from` sends arrives at `to`.
pub fn carry(from: &mut Engine, to: &mut Engine, now: Instant) {
    while let Some(transmit) = from.poll_transmit(now) {
        to.handle_header(now, transmit.subchannel, &transmit.header).unwrap();
        if transmit.header.body.payload_len() > 0 {
            to.payload_placed(now, transmit.subchannel);
        }
    }
}
