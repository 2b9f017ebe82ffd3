//! The driver loop: moves bytes between sockets, memory and the engine.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use fishplate_engine::Instant;

use super::Endpoint;
use crate::link::Filled;
use crate::sys::poll::Ready;

/// Bytes that a link takes from the engine at a time: one good system call, and no more bound to a rail than that.
pub(super) const BUDGET: u64 = 256 << 10;
/// Reads of one link in one call, so that one busy peer does not keep the others, or the user, waiting.
pub(super) const MOST_READS: usize = 16;
/// Rounds of sending in one call, for the same reason.
const MOST_ROUNDS: usize = 8;
/// How often attempts to connect, and the kernel's measurements of paths, are looked at, in nanoseconds.
const TICK_NS: u64 = 5_000_000;

/// What a number in the poll set stands for.
enum Token {
    Listener(usize),
    Link(usize),
    Attempt(usize),
    Incoming(usize),
    Datagrams(usize),
}

pub(super) fn listener_token(at: usize) -> u64 {
    at as u64
}

pub(super) fn link_token(at: usize) -> u64 {
    1 << 32 | at as u64
}

pub(super) fn attempt_token(at: usize) -> u64 {
    2 << 32 | at as u64
}

pub(super) fn incoming_token(at: usize) -> u64 {
    3 << 32 | at as u64
}

pub(super) fn datagrams_token(at: usize) -> u64 {
    4 << 32 | at as u64
}

impl Token {
    fn of(number: u64) -> Token {
        let at = (number & u64::from(u32::MAX)) as usize;
        match number >> 32 {
            0 => Token::Listener(at),
            1 => Token::Link(at),
            2 => Token::Attempt(at),
            3 => Token::Incoming(at),
            _ => Token::Datagrams(at),
        }
    }
}

impl Endpoint {
    /// Moves data. True if anything happened.
    pub fn progress(&mut self) -> bool {
        self.progress_for(Duration::ZERO)
    }

    /// The same; waits up to `timeout` for a socket if there is nothing to do.
    pub(super) fn progress_for(&mut self, timeout: Duration) -> bool {
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

    /// Sends end whose bytes the kernels have: what waits in this process needs calls of the user's, and who has nothing under
    /// way may not come back.
    fn buffer_sends(&mut self, now: Instant) -> bool {
        let waits = || self.links.iter().any(|(_, link)| !link.transmit.is_empty());
        if !self.engine.may_complete_early() || waits() || !self.engine.buffer(now) {
            return false;
        }
        self.act();
        true
    }

    /// Sends what the engine has to send and the links take. True if that was anything.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut moved = false;
        self.end_rests(now);
        for _ in 0..MOST_ROUNDS {
            while let Some(transmit) = self.engine.poll_transmit(now) {
                if let Some(at) = self.link_of(transmit.subchannel) {
                    moved |= self.hand_over(at, &transmit, now);
                }
            }
            self.act();
            if self.dirty.is_empty() {
                break;
            }
            moved = true;
            let mut dirty = std::mem::take(&mut self.dirty);
            for at in dirty.drain(..) {
                self.links.get_mut(at).into_iter().for_each(|link| link.dirty = false);
                if !self.hold(at, now) {
                    self.flush(at);
                }
            }
            if self.dirty.is_empty() {
                self.dirty = dirty;
            }
        }
        moved
    }

    /// A link has something to send.
    pub(super) fn soil(&mut self, at: usize) {
        let link = &mut self.links[at];
        if !std::mem::replace(&mut link.dirty, true) {
            self.dirty.push(at);
        }
    }

    pub(super) fn flush(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at) else { return };
        if link.blocked {
            return;
        }
        self.flushes += 1;
        match link.transmit.flush(link.socket.as_fd(), &self.memory) {
            Ok(true) => self.engine.writable(link.subchannel, BUDGET),
            Ok(false) => {
                link.blocked = true;
                if !self.stalled.contains(&at) {
                    self.stalled.push(at);
                }
                self.watch(at);
            }
            Err(error) => self.link_failed(at, &error.to_string(), self.clock.now()),
        }
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

    pub(super) fn unblock(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at).filter(|link| link.blocked) else { return };
        link.blocked = false;
        self.stalled.retain(|stalled| *stalled != at);
        self.soil(at);
    }

    /// Reads a link until it has nothing more, or others must have their turn.
    pub(super) fn read_link(&mut self, at: usize, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MOST_READS {
            let Some(link) = self.links.get_mut(at) else { return moved };
            link.read_in = self.calls;
            // What was put off had come before the poll set was asked last.
            let was_in_set = link.watched && !std::mem::take(&mut link.has_news);
            match link.receive.fill(link.socket.as_fd(), &self.memory, &mut self.bounces) {
                Ok(Filled::End) => {
                    self.link_ended(at, now);
                    return true;
                }
                Ok(filled) => {
                    moved = true;
                    if self.hot == Some(at) {
                        self.asking.heard();
                    }
                    let looked = std::mem::replace(&mut link.looked_at, now);
                    let (subchannel, has_ended, is_open) = (link.subchannel, link.has_ended, link.is_open(now));
                    self.engine.looked(subchannel, self.looked_at(was_in_set, looked));
                    if is_open {
                        self.engine.moved(now, subchannel);
                    }
                    self.make_hot(at);
                    if !self.take_in(at, now) || (filled == Filled::Drained && !has_ended) {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    link.looked_at = now;
                    return moved;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.link_failed(at, &error.to_string(), now);
                    return true;
                }
            }
        }
        // There may be more, of which the poll set will not tell again.
        self.remind(at);
        moved
    }
}
