//! Reading the stream of a link.

use std::io;
use std::os::fd::AsFd;

use fishplate_engine::Instant;

use super::MOST_READS;
use crate::endpoint::Endpoint;
use crate::link::Filled;
use crate::link_kind::LinkId;

impl Endpoint {
    /// Reads a link until it has no more data, or up to the limit of one call.
    pub(in crate::endpoint) fn read_link(&mut self, at: usize, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MOST_READS {
            let Some(link) = self.links.streams.get_mut(at) else { return moved };
            link.read_in_call = self.calls;
            // A deferred read is of data from before the last poll.
            let was_in_set = link.in_poll_set && !std::mem::take(&mut link.read_deferred);
            let (held, missing) = (link.receive.held(), link.receive.missing());
            let started = self.processor_time.receive.wants(missing).then(|| self.clock.now());
            let filled = link.receive.fill(link.socket.as_fd(), &self.memory, &mut self.bounces);
            if let (Some(started), Ok(_)) = (started, &filled) {
                let took_ns = self.clock.now().since_ns(started);
                self.processor_time.receive.sample(link.receive.held().saturating_sub(held), took_ns);
            }
            match filled {
                Ok(Filled::End) => {
                    self.link_shut(LinkId::Stream(at));
                    return true;
                }
                Ok(filled) => {
                    moved = true;
                    if self.active_link == Some(at) {
                        self.poll_interval.active_link_had_data();
                    }
                    let polled_before = std::mem::replace(&mut link.polled_at, now);
                    let (subchannel, hung_up, is_open) =
                        (link.common.subchannel, link.hung_up, link.is_delivering(now));
                    self.engine.arrived_after(subchannel, self.known_empty_at(was_in_set, polled_before));
                    if is_open {
                        self.engine.made_progress(now, subchannel);
                    }
                    self.set_active_link(at);
                    if !self.process_received(at, now) || (filled == Filled::Drained && !hung_up) {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    link.polled_at = now;
                    return moved;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.link_failed(LinkId::Stream(at), &error.to_string());
                    return true;
                }
            }
        }
        // There may be more data, which the poll set will not report again.
        self.rearm(at);
        moved
    }
}
