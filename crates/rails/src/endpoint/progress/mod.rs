//! The driver loop: moves bytes between sockets, memory and the engine.

mod background;
pub(in crate::endpoint) mod poll_interval;
mod poll_set;
pub(in crate::endpoint) mod token;

use std::time::Duration;

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::sys::poll::Ready;

use token::{Token, datagrams_token, link_token};

/// How often attempts to connect, and the kernel's measurements of paths, are looked at, in nanoseconds.
const TICK_NS: u64 = 5_000_000;

impl Endpoint {
    /// Moves data. True if anything happened.
    pub fn progress(&mut self) -> bool {
        self.progress_for(Duration::ZERO)
    }

    /// The same; waits up to `timeout` for a socket if there is nothing to do.
    pub(in crate::endpoint) fn progress_for(&mut self, timeout: Duration) -> bool {
        self.calls += 1;
        let now = self.clock.now();
        self.release();
        let mut moved = self.read_hot(now);
        if !timeout.is_zero() {
            self.watch_hot();
        }
        let ask_all = self.hot.is_none() || self.asking.is_due(now, self.calls) || !timeout.is_zero();
        if ask_all {
            let timeout = if moved { Duration::ZERO } else { timeout };
            moved |= self.ask_all(timeout, now);
        }
        if now >= self.next_tick {
            self.next_tick = now.plus_ns(TICK_NS);
            self.look_after_crowd(now);
            self.show(now);
            self.look_after_attempts(now);
            // Before the engine gives anything up: after a while away, only the kernel knows what has moved.
            self.sample_paths(now);
            self.repeat_datagrams(now);
        }
        self.ask_for_deliveries(now);
        self.engine.handle_timeout(now);
        self.end_what_the_engine_gives_up(now);
        moved |= self.pump(now);
        moved || self.buffer_sends(now)
    }

    fn ask_all(&mut self, timeout: Duration, now: Instant) -> bool {
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
        let hot = self.hot.map(|at| [link_token(at), datagrams_token(at)]);
        let others = ready.iter().flatten().any(|event| hot.is_none_or(|hot| !hot.contains(&event.token)));
        let mut moved = false;
        for event in ready.into_iter().flatten() {
            moved |= self.handle_ready(event, now);
        }
        self.asking.asked(now, self.calls, others);
        if self.asking.is_seldom() && timeout.is_zero() {
            self.unwatch_hot();
        }
        moved
    }

    fn handle_ready(&mut self, event: Ready, now: Instant) -> bool {
        match Token::of(event.token) {
            Token::Listener(at) => self.accept_all(at, now),
            Token::Attempt(at) => self.attempt_ready(at, now),
            Token::Incoming(at) => self.incoming_ready(at, now),
            Token::Datagrams(at) => self.read_datagrams(at, now),
            Token::Link(at) => {
                if event.writable {
                    self.unblock(at);
                }
                if event.ended
                    && let Some(link) = self.links.get_mut(at)
                {
                    link.has_ended = true;
                }
                event.readable && !self.leave_for_next_call(at) && self.read_link(at, now)
            }
        }
    }
}
