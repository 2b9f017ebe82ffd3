//! The progress loop: moves bytes between sockets, memory and the engine.
//!
//! [`Endpoint::progress`] polls shared memory and, when due (`socket_polls`), the active link and, now and then, all other sockets
//! (`poll_interval`); it handles timers, and runs the send path. `state` has the work that is due in a call. `background` is for
//! the progress thread, while the application is not in MPI.
//!
//! Called by the user, the provider. Nothing here blocks for longer than a thread needs for a payload that it was lent.

mod background;
pub(in crate::endpoint) mod poll_interval;
mod socket_polls;
pub(in crate::endpoint) mod state;

use std::time::Duration;

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::poller::{Kind, NO_EVENTS, Ready};
use crate::ticks::{self, Span};

impl Endpoint {
    /// Sends and receives. True if anything happened.
    #[inline]
    pub fn progress(&mut self) -> bool {
        self.progress_for(Duration::ZERO)
    }

    /// Says whether others wait for the processor that this process polls on. Then each call polls sockets, as the process yields
    /// between calls, which takes long. `has_yielded`: it has yielded since the last call.
    #[inline]
    pub fn set_crowded(&mut self, is_crowded: bool, has_yielded: bool) {
        self.progress.is_crowded = is_crowded;
        self.progress.socket_polls.set_yielded(has_yielded);
    }

    /// Until when [`Endpoint::progress`] would find nothing, unless something is posted.
    #[inline]
    pub fn pause(&self) -> Span {
        let looks = self.links.may_come_without_socket() || !self.links.tcp.transfers.is_empty();
        if looks { Span::OVER } else { self.progress.pause() }
    }

    /// Makes progress, and waits up to `timeout` for a socket if there is nothing to do.
    pub(in crate::endpoint) fn progress_for(&mut self, timeout: Duration) -> bool {
        self.progress.calls += 1;
        self.flush_held();
        self.links.memory.wake();
        let mut moved = self.poll_shared_memory(self.progress.now, !timeout.is_zero());
        if moved && timeout.is_zero() && self.progress.skips() {
            self.pump(self.progress.now);
            return true;
        }
        self.progress.skips_nothing();
        let is_due = !self.links.tcp.transfers.is_empty() || self.progress.is_socket_poll_due();
        if !moved && timeout.is_zero() && !is_due {
            moved = !self.links.ofi.is_empty() && self.poll_ofi(self.clock.now());
            if !moved {
                self.links.memory.ring_bells(true);
                return false;
            }
        }
        self.poll_sockets_and_send(moved, timeout)
    }

    /// Polls the sockets, handles timers, and runs the send path.
    fn poll_sockets_and_send(&mut self, mut moved: bool, timeout: Duration) -> bool {
        let now = self.clock.now();
        self.progress.now = now;
        // One system call for all sockets, also where the process gives its processor away between polls: each is late anyway.
        let is_rare = self.progress.socket_polls.begin(now) || self.progress.is_crowded;
        moved |= if timeout.is_zero() { self.collect_transfers(now) } else { self.pause_transfers(now) };
        moved |= self.poll_ofi(now);
        moved = self.poll_sockets(now, moved, timeout, is_rare);
        if self.progress.ticks(now) {
            ticks::measure();
            self.service_set_up(now);
            self.publish_rail_bytes();
            self.write_status_page(now);
            self.service_attempts(now);
            self.service_silences(now);
            // Before the engine checks liveness: after a long computation, only the kernel knows what has been acknowledged.
            self.sample_paths(now);
            self.processor_time
                .news(self.links.tcp.transfers.parallel())
                .into_iter()
                .for_each(|cost| self.engine.processor_measured(cost));
            self.links.tcp.retransmit_datagrams(now);
        }
        self.links.tcp.query_kernel_acks(&mut self.engine, now);
        self.engine.handle_timeout(now);
        self.apply_engine_failures();
        moved |= self.pump(now);
        self.fail_broken_links();
        self.links.tcp.answer_goodbyes(&self.engine);
        self.links.memory.ring_bells(true);
        if !timeout.is_zero() {
            self.resume_transfers();
        }
        moved = moved || self.buffer_sends(now);
        match moved {
            true => self.progress.socket_polls.expect(),
            false => self.progress.socket_polls.found_nothing(self.clock.now(), self.expects_news()),
        }
        moved
    }

    /// Whether the user may wait for data from a socket of a peer that is connected or connecting.
    fn expects_news(&self) -> bool {
        let has_sockets = !self.links.tcp.is_empty() || !self.attempts.is_empty();
        has_sockets && !self.links.memory.is_all()
    }

    /// Polls the active link and, now and then, all others. Where polls are rare (`is_rare`), always all. Returns `moved`, or whether
    /// there was anything.
    fn poll_sockets(&mut self, now: Instant, mut moved: bool, timeout: Duration, is_rare: bool) -> bool {
        if is_rare {
            self.release_active_link();
        }
        moved = moved || self.poll_active_link(now);
        if !timeout.is_zero() {
            self.register_active_link();
        }
        let polls_others = self.links.tcp.active.is_some() || self.links.may_come_without_socket();
        let is_due = self.progress.is_poll_due(now, !self.links.memory.is_all());
        if !polls_others || is_due || !timeout.is_zero() {
            let timeout = if moved { Duration::ZERO } else { timeout };
            moved |= self.poll_all(timeout, now);
        }
        moved
    }

    fn poll_all(&mut self, timeout: Duration, now: Instant) -> bool {
        let mut room = NO_EVENTS;
        let Ok(ready) = self.poller.wait(timeout, &mut room) else { return false };
        let active = self.links.tcp.active.map(|at| [Kind::Link.at(at), Kind::Datagrams.at(at)]);
        let is_other = |event: Ready| active.is_none_or(|active| !active.contains(&event.socket));
        let others = ready.clone().any(is_other);
        let mut moved = false;
        for event in ready {
            moved |= self.socket_ready(event, now);
        }
        self.progress.polled(now, others);
        if self.progress.poll_interval.is_at_maximum() && timeout.is_zero() {
            self.links.tcp.deregister_active(&self.poller);
        }
        moved
    }
}
