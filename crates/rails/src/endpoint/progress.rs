//! The driver loop: moves bytes between sockets, memory and the engine.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use fishplate_engine::Instant;
use fishplate_engine::wire::Body;

use super::Endpoint;
use crate::link::{Arrived, Filled};
use crate::sys::poll::Ready;

/// Bytes that a link takes from the engine at a time: one good system call, and no more bound to a rail than that.
const BUDGET: u64 = 256 << 10;
/// Reads of one link in one call, so that one busy peer does not keep the others, or the user, waiting.
const MOST_READS: usize = 16;
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

impl Token {
    fn of(number: u64) -> Token {
        let at = (number & u64::from(u32::MAX)) as usize;
        match number >> 32 {
            0 => Token::Listener(at),
            1 => Token::Link(at),
            2 => Token::Attempt(at),
            _ => Token::Incoming(at),
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
        }
        self.engine.handle_timeout(now);
        self.end_what_the_engine_gives_up(now);
        moved | self.pump(now)
    }

    /// Sends what the engine has to send and the links take. True if that was anything.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MOST_ROUNDS {
            while let Some(transmit) = self.engine.poll_transmit(now) {
                let link = self.link_of(transmit.subchannel);
                let Some((at, link)) = link.and_then(|at| Some((at, self.links.get_mut(at)?))) else { continue };
                link.transmit.push(&transmit.header, &transmit.source, transmit.copy, &self.memory, &self.bounces);
                if transmit.header.body.is_counted() {
                    link.counts.tx_bytes += transmit.source.len();
                    link.counts.tx_messages += u64::from(carries_data(&transmit.header.body));
                }
                if !link.dirty {
                    link.dirty = true;
                    self.dirty.push(at);
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

    pub(super) fn flush(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at) else { return };
        if link.blocked {
            return;
        }
        match link.transmit.flush(link.socket.as_fd(), &self.memory) {
            Ok(true) => self.engine.writable(link.subchannel, BUDGET),
            Ok(false) => {
                link.blocked = true;
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
        let hot = self.hot.map(link_token);
        let others = ready.iter().flatten().any(|event| Some(event.token) != hot);
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
            Token::Link(at) => {
                if event.writable {
                    self.unblock(at);
                }
                event.readable && !self.leave_for_next_call(at) && self.read_link(at, now)
            }
        }
    }

    fn unblock(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at).filter(|link| link.blocked) else { return };
        link.blocked = false;
        if !link.dirty {
            link.dirty = true;
            self.dirty.push(at);
        }
    }

    /// Reads a link until it has nothing more, or others must have their turn.
    pub(super) fn read_link(&mut self, at: usize, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MOST_READS {
            let Some(link) = self.links.get_mut(at) else { return moved };
            link.read_in = self.calls;
            link.has_news = false;
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
                    self.engine.looked(link.subchannel, link.looked_at.max(self.asking.last()));
                    self.engine.moved(now, link.subchannel);
                    link.looked_at = now;
                    self.make_hot(at);
                    if !self.take_in(at, now) || filled == Filled::Drained {
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

    /// Hands what was read to the engine. False if the link is gone.
    pub(super) fn take_in(&mut self, at: usize, now: Instant) -> bool {
        loop {
            let Some(link) = self.links.get_mut(at) else { return false };
            let subchannel = link.subchannel;
            match link.receive.next(&self.memory, &mut self.bounces) {
                Ok(None) => return true,
                Ok(Some(Arrived::Header(header))) => {
                    link.said_bye |= header.body == Body::Bye;
                    if header.body == Body::Leave && !link.hear_farewell() {
                        self.misbehaved(at, "the peer broke the protocol: it lets go of a connection that has to stay");
                        return false;
                    }
                    link.counts.rx_messages += u64::from(carries_data(&header.body));
                    match self.engine.handle_header(now, subchannel, &header) {
                        Ok(placement) => {
                            self.act();
                            let len = u64::from(header.body.payload_len());
                            if len > 0 {
                                self.links[at].receive.expect(placement, len, &mut self.bounces);
                            }
                        }
                        Err(misbehaviour) => {
                            self.misbehaved(at, &format!("the peer broke the protocol: {misbehaviour}"));
                            return false;
                        }
                    }
                }
                Ok(Some(Arrived::Payload(len))) => {
                    link.counts.rx_bytes += len;
                    self.engine.payload_placed(now, subchannel);
                    self.act();
                }
                Err(malformed) => {
                    self.misbehaved(at, &format!("the peer broke the protocol: {malformed}"));
                    return false;
                }
            }
        }
    }
}

/// Whether a frame is a message, a write or a piece of one, not protocol.
fn carries_data(body: &Body) -> bool {
    matches!(body, Body::Eager { .. } | Body::Piece { .. } | Body::Stripe { .. } | Body::Write { .. })
}
