//! Reading the stream of a link.

use std::io;
use std::os::fd::AsFd;

use fishplate_engine::Instant;

use super::MOST_READS;
use crate::endpoint::Endpoint;
use crate::link::Filled;

impl Endpoint {
    /// Reads a link until it has nothing more, or others must have their turn.
    pub(in crate::endpoint) fn read_link(&mut self, at: usize, now: Instant) -> bool {
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
