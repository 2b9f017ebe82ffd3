//! Peers that poll need no bell. One that is about to wait for its sockets says so in the shared memory, and whoever then
//! sends something to it rings.
//!
//! A sender looks whether its peer sleeps at once, without a fence, which would cost a good part of a short message; and
//! again behind one in its next progress call. So a bell is late where the peer falls asleep in between, and the sender's
//! user makes no such call: until the peer, which never waits for more than a few milliseconds, looks by itself.

use std::sync::atomic::{Ordering, fence};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Wakes peers for which something was sent; `is_last`: nothing has to be looked at again.
    #[inline]
    pub(in crate::endpoint) fn ring_bells(&mut self, is_last: bool) {
        if !self.shared_memory.unrung {
            return;
        }
        if is_last {
            self.shared_memory.unrung = false;
            fence(Ordering::SeqCst);
        }
        for (_, link) in self.links.memory.iter_mut().filter(|(_, link)| link.sender.unrung) {
            link.ring_if_asleep(is_last);
        }
    }

    /// Somebody polls again.
    #[inline]
    pub(in crate::endpoint) fn wake_shared_memory(&mut self) {
        if std::mem::take(&mut self.shared_memory.is_asleep) {
            self.links.memory.iter_mut().for_each(|(_, link)| link.wake());
        }
    }

    /// Nobody will poll: from now on peers ring. False if something has come already.
    pub(in crate::endpoint) fn sleep_shared_memory(&mut self) -> bool {
        if self.shared_memory.is_empty() {
            return true;
        }
        self.shared_memory.is_asleep = true;
        self.links.memory.iter_mut().for_each(|(_, link)| link.sleep());
        let has_come = self.links.memory.iter().any(|(_, link)| link.receiver.has_record());
        if has_come {
            self.wake_shared_memory();
        }
        !has_come
    }

    /// A peer has rung, or its end is shut.
    pub(in crate::endpoint) fn shared_memory_rang(&mut self, at: usize, is_shut: bool) -> bool {
        let Some(link) = self.links.memory.get_mut(at) else { return false };
        link.silence();
        link.hung_up |= is_shut;
        let now = self.clock.now();
        self.poll_shared_memory(now, false)
    }
}
