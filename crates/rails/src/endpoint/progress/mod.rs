//! The progress loop: moves bytes between sockets, memory and the engine.
//!
//! [`Endpoint::progress`] looks at memory that peers share and, when a look is due (`looks`), polls the active link and, now and
//! then, all others (`poll_set`, `poll_interval`, `token`), handles timers, and lets the send path pump. `state` says what is due in a call. `background` is for the
//! progress thread, while the application is not in MPI.
//!
//! Called by the user, who is the provider. Nothing here blocks for longer than a thread takes for what it was lent.

mod background;
mod looks;
pub(in crate::endpoint) mod poll_interval;
mod poll_set;
pub(in crate::endpoint) mod state;
pub(in crate::endpoint) mod token;

use std::time::Duration;

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::sys::poll::Ready;
use crate::ticks::{self, Span};

use token::Token;

impl Endpoint {
    /// Moves data. True if anything happened.
    #[inline]
    pub fn progress(&mut self) -> bool {
        self.progress_for(Duration::ZERO)
    }

    /// Whether others wait for the processor that this process polls on. Then each call looks: who gives the processor away has
    /// waited long. `has_yielded`: it has given it away since the last call.
    #[inline]
    pub fn set_crowded(&mut self, is_crowded: bool, has_yielded: bool) {
        self.progress.is_crowded = is_crowded;
        self.progress.looks.set_yielded(has_yielded);
    }

    /// Until when [`Endpoint::progress`] would find nothing, unless something is posted.
    #[inline]
    pub fn pause(&self) -> Span {
        let looks_at_memory =
            !self.shared_memory.is_empty() || !self.links.ofi.is_empty() || !self.transfers.is_empty();
        if looks_at_memory { Span::OVER } else { self.progress.pause() }
    }

    /// The same; waits up to `timeout` for a socket if there is nothing to do.
    pub(in crate::endpoint) fn progress_for(&mut self, timeout: Duration) -> bool {
        self.progress.calls += 1;
        self.flush_held();
        self.wake_shared_memory();
        let mut moved = self.poll_shared_memory(self.progress.now, !timeout.is_zero());
        if moved && timeout.is_zero() && self.progress.skips() {
            self.pump(self.progress.now);
            return true;
        }
        self.progress.skips_nothing();
        let is_due = !self.transfers.is_empty() || self.progress.is_look_due();
        if !moved && timeout.is_zero() && !is_due {
            moved = !self.links.ofi.is_empty() && self.poll_ofi(self.clock.now());
            if !moved {
                self.ring_bells(true);
                return false;
            }
        }
        self.look(moved, timeout)
    }

    /// Looks at the sockets and at what is due, and sends what can be.
    fn look(&mut self, mut moved: bool, timeout: Duration) -> bool {
        let now = self.clock.now();
        self.progress.now = now;
        let is_rare = self.progress.looks.begin(now);
        moved |= if timeout.is_zero() { self.collect_transfers(now) } else { self.pause_transfers(now) };
        moved |= self.poll_ofi(now);
        moved = self.poll_sockets(now, moved, timeout, is_rare);
        if self.progress.ticks(now) {
            ticks::measure();
            self.service_unproven(now);
            self.service_shared_memory(now);
            self.service_ofi(now);
            self.publish_rail_bytes();
            self.write_status_page(now);
            self.service_attempts(now);
            self.service_silences(now);
            // Before the engine gives anything up: after a long computation, only the kernel knows what has been acknowledged.
            self.sample_paths(now);
            self.processor_time
                .news(self.transfers.parallel())
                .into_iter()
                .for_each(|cost| self.engine.processor_measured(cost));
            self.retransmit_datagrams(now);
        }
        self.query_kernel_acks(now);
        self.engine.handle_timeout(now);
        self.apply_engine_failures();
        moved |= self.pump(now);
        self.fail_broken_links();
        self.answer_goodbyes();
        self.ring_bells(true);
        if !timeout.is_zero() {
            self.resume_transfers();
        }
        moved = moved || self.buffer_sends(now);
        match moved {
            true => self.progress.looks.expect(),
            false => self.progress.looks.nothing_came(self.clock.now(), self.expects_news()),
        }
        moved
    }

    /// Whether somebody is connected, or connects, whose sockets may have something that the user waits for.
    fn expects_news(&self) -> bool {
        let has_sockets = !self.links.streams.is_empty() || !self.attempts.is_empty();
        has_sockets && !self.shared_memory.is_all()
    }

    /// Polls the active link and, now and then, all others. Where looks are `rare`, it is one as they are.
    /// Whether that, or what came before (`moved`), was anything.
    fn poll_sockets(&mut self, now: Instant, mut moved: bool, timeout: Duration, is_rare: bool) -> bool {
        if is_rare {
            self.release_active_link();
        }
        moved = moved || self.poll_active_link(now);
        if !timeout.is_zero() {
            self.register_active_link();
        }
        let polls_others = self.active_link.is_some() || !self.shared_memory.is_empty() || !self.links.ofi.is_empty();
        let is_due = self.progress.is_poll_due(now, !self.shared_memory.is_all());
        if !polls_others || is_due || !timeout.is_zero() {
            let timeout = if moved { Duration::ZERO } else { timeout };
            moved |= self.poll_all(timeout, now);
        }
        moved
    }

    fn poll_all(&mut self, timeout: Duration, now: Instant) -> bool {
        let mut ready: [Option<Ready>; 32] = [None; 32];
        let mut count = 0;
        let asked = self.poller.wait(timeout, |event| {
            if let Some(slot) = ready.get_mut(count) {
                *slot = Some(event);
                count += 1;
            }
        });
        if asked.is_err() {
            return false;
        }
        let active = self.active_link.map(|at| [Token::Link(at).number(), Token::Datagrams(at).number()]);
        let others =
            ready.iter().take(count).flatten().any(|event| active.is_none_or(|active| !active.contains(&event.token)));
        let mut moved = false;
        for event in ready.into_iter().take(count).flatten() {
            moved |= self.handle_ready(event, now);
        }
        self.progress.polled(now, others);
        if self.progress.poll_interval.is_longest() && timeout.is_zero() {
            self.deregister_active_link();
        }
        moved
    }

    fn handle_ready(&mut self, event: Ready, now: Instant) -> bool {
        match Token::of(event.token) {
            Token::Listener(at) => self.accept_all(at, now),
            Token::Attempt(at) => self.attempt_ready(at, now),
            Token::Incoming(at) => self.incoming_ready(at, now),
            Token::Datagrams(at) => self.read_datagrams(at, now),
            Token::SharedListener => self.accept_shared_memory(now),
            Token::Arriving(at) => self.shared_memory_arrived(at),
            Token::Offered(at) => self.shared_memory_answered(at),
            Token::Shared(at) => self.shared_memory_rang(at, event.ended),
            Token::Link(at) => {
                if event.writable {
                    self.unblock(at);
                }
                if event.ended
                    && let Some(link) = self.links.streams.get_mut(at)
                {
                    link.hung_up = true;
                }
                event.readable && !self.defer_read(at) && self.read_link(at, now)
            }
        }
    }
}
