//! Window warm-up and path probes by padding: frames without content, from whose segments TCP and BBR measure the path.

use std::os::fd::AsFd;

use fishplate_engine::Instant;
use fishplate_engine::wire::{Body, COMMON_LEN};

use crate::endpoint::Endpoint;
use crate::link_kind::LinkId;
use crate::sys::tcp_info::TcpInfo;

/// Bytes of a frame of padding.
const FRAME: u32 = COMMON_LEN as u32;
/// Frames in a short segment. The receiver's window opens with segments of 128 bytes or more, and not with those of 64, which are
/// too short for the memory that they take.
const SHORT: u32 = 7;
/// Two full segments, less so many bytes: a third one, with what does not fit or what encryption adds, would be acknowledged
/// late.
const SLACK: u32 = 64;
/// Bytes for which two segments count at most: those of the loopback interface are long.
const LONGEST: u32 = 18_000;

impl Endpoint {
    /// Sends so many short segments, if nothing waits to be sent: they open the congestion window and the peer's receive window.
    pub(in crate::endpoint) fn warm_up_windows(&mut self, at: usize, segments: u32, now: Instant) {
        for _ in 0..segments {
            if !self.send_padding(at, SHORT, now) {
                return;
            }
        }
    }

    /// Sends two full segments, if nothing waits to be sent: their acknowledgement, which is prompt, gives BBR a round trip.
    pub(in crate::endpoint) fn send_path_probe(&mut self, at: usize, info: &TcpInfo, now: Instant) {
        let bytes = (2 * info.segment_bytes).min(LONGEST).saturating_sub(SLACK);
        self.send_padding(at, bytes / FRAME, now);
    }

    /// Whether so many frames went out at once. Nothing does if something waits to be sent, or the link ends.
    fn send_padding(&mut self, at: usize, frames: u32, now: Instant) -> bool {
        let Some(link) = self.links.streams.get_mut(at) else { return false };
        if link.blocked || !link.transmit.is_empty() || link.retirement.has_begun() {
            return false;
        }
        for _ in 0..frames {
            let header = self.engine.bare_header(now, link.common.subchannel, Body::Ack);
            link.transmit.push_header(&header);
        }
        match link.transmit.flush(link.socket.as_fd(), &self.memory) {
            Ok(true) => return true,
            Ok(false) => {
                link.blocked = true;
                self.register_link(at);
            }
            Err(error) => self.link_failed(LinkId::Stream(at), &error.to_string()),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::test_pair::Pair;

    #[test]
    fn the_path_is_shown_by_two_segments_and_nothing_while_anything_waits() {
        let mut pair = Pair::open();
        let end = &mut pair.ends[0];
        let at = end.links.streams.iter().next().unwrap().0;
        let now = end.clock.now();
        let mut sent_with = |segment_bytes| {
            let before = end.links.streams[at].transmit.taken();
            end.send_path_probe(at, &TcpInfo { segment_bytes, ..TcpInfo::default() }, now);
            end.links.streams[at].transmit.taken() - before
        };
        assert_eq!((sent_with(1448), sent_with(65_483)), (2820, 17_920));
        let header = end.engine.bare_header(now, end.links.streams[at].common.subchannel, Body::Ack);
        end.links.streams[at].transmit.push_header(&header);
        let before = end.links.streams[at].transmit.taken();
        end.send_path_probe(at, &TcpInfo { segment_bytes: 1448, ..TcpInfo::default() }, now);
        assert_eq!(end.links.streams[at].transmit.taken(), before);
        pair.close();
    }
}
