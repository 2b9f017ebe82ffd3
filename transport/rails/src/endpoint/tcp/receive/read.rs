//! Reading the stream of a link.

use std::io;
use std::os::fd::AsFd;

use fishplate_engine::Instant;

use super::MAX_READS;
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::link::Filled;

/// The result of a read of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) enum Read {
    /// There is more.
    More,
    /// There was data, and all was read.
    All,
    /// There was nothing.
    Nothing,
    /// A signal came.
    Interrupted,
    /// The link has ended.
    Gone,
}

impl Endpoint {
    /// Reads a link until it has no more data, or up to the limit of one call.
    pub(in crate::endpoint) fn read_link(&mut self, at: usize, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MAX_READS {
            let Some(link) = self.links.tcp.get_mut(at) else { return moved };
            if link.receive.is_lent() {
                link.read_deferred = true;
                return moved;
            }
            link.read_in_call = self.progress.calls;
            if self.links.tcp.lend_payload(at, &self.memory) {
                return true;
            }
            let link = &mut self.links.tcp[at];
            // The data of a deferred read came before the last poll.
            let was_in_set = link.in_poll_set && !link.read_deferred;
            let (held, missing) = (link.receive.held(), link.receive.missing());
            let started = self.processor_time.wants(missing).then(|| self.clock.now());
            let filled = link.receive.fill(link.socket.as_fd(), &self.memory, &mut self.bounces);
            if let (Some(started), Ok(_)) = (started, &filled) {
                let took_ns = self.clock.now().since_ns(started);
                self.processor_time.receive.sample(link.receive.held().saturating_sub(held), took_ns);
            }
            match self.was_filled(at, filled, was_in_set, now) {
                Read::More => moved = true,
                Read::Interrupted => {}
                Read::Nothing => return moved,
                Read::All | Read::Gone => return true,
            }
        }
        // There may be more data, which the poll set will not report again.
        self.links.tcp.rearm(at, &self.poller);
        moved
    }

    /// A read of a link has ended with `filled`: hands whole frames to the engine. `is_watched`: the poll set would have reported data
    /// that came before its last poll.
    pub(in crate::endpoint) fn was_filled(
        &mut self,
        at: usize,
        filled: io::Result<Filled>,
        is_watched: bool,
        now: Instant,
    ) -> Read {
        let is_active = self.links.tcp.active == Some(at);
        let Some(link) = self.links.tcp.get_mut(at) else { return Read::Gone };
        link.read_deferred = false;
        match filled {
            Ok(Filled::End) => {
                self.link_shut(LinkId::Tcp(at));
                Read::Gone
            }
            Ok(filled) => {
                if is_active {
                    self.progress.poll_interval.active_link_had_data();
                }
                let polled_before = std::mem::replace(&mut link.polled_at, now);
                let (subchannel, hung_up, is_open) = (link.common.subchannel, link.hung_up, link.is_delivering(now));
                self.engine.arrived_after(subchannel, self.known_empty_at(is_watched, polled_before));
                if is_open {
                    self.engine.made_progress(now, subchannel);
                }
                self.set_active_link(at);
                let is_there = self.process_received(at, now);
                self.resume_datagram(at, now);
                match is_there {
                    false => Read::Gone,
                    true if filled == Filled::Drained && !hung_up => Read::All,
                    true => Read::More,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                link.polled_at = now;
                Read::Nothing
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Read::Interrupted,
            Err(error) => {
                self.link_failed(LinkId::Tcp(at), &error.to_string());
                Read::Gone
            }
        }
    }
}
