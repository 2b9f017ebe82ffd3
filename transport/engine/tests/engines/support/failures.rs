//! Connections that break, stall, and come back.

use fishplate_engine::Instant;

use super::pipe::Load;
use super::world::{Event, World};

impl World {
    /// Pipes of connections that work, one a connection.
    pub fn connections(&self) -> Vec<usize> {
        let works = |pipe: &usize| [*pipe, *pipe + 1].iter().all(|at| !self.pipes[*at].cut && !self.pipes[*at].dead);
        (0..self.pipes.len()).step_by(2).filter(works).collect()
    }

    /// The connection of a pipe breaks. Some of what is in it still arrives; each side hears of it in its own time.
    pub fn cut(&mut self, pipe: usize) {
        for at in [pipe & !1, pipe | 1] {
            if self.pipes[at].cut || self.pipes[at].dead {
                continue;
            }
            let late = self.rng.below(300_000);
            let frames = self.pipes[at].frames.len() as u64;
            let stays = if self.pipes[at].stalled { 0 } else { self.rng.below(frames + 1) };
            self.pipes[at].cut = true;
            self.pipes[at].frames.truncate(stays as usize);
            let from = self.pipes[at].from.0;
            for position in 0..stays as usize {
                let frame = &mut self.pipes[at].frames[position];
                if position > 0 {
                    frame.header_at += late;
                }
                frame.payload_at += late;
                if let Load::Late(source) = &frame.load {
                    frame.load = Load::Copied(self.nodes[from].memory.gather(source));
                }
            }
            let hears_at = self.now + self.rng.below(500_000);
            self.schedule(hears_at, Event::Ended(at));
        }
    }

    /// Nothing moves on the connection of a pipe from now on. The kernels find out much later.
    pub fn stall(&mut self, pipe: usize) {
        for at in [pipe & !1, pipe | 1] {
            self.pipes[at].stalled = true;
            self.schedule(self.now + 2_000_000_000, Event::Ended(at));
        }
    }

    /// The connection comes back as a new one.
    pub fn rejoin(&mut self, pipe: usize, at: u64) {
        let (a, b) = (self.pipes[pipe].from.0, self.pipes[pipe].to.0);
        let rail = self.pipes[pipe].rail_number;
        self.schedule(at, Event::Join(a, b, rail));
    }

    /// The node at the start of a pipe gives its connection back, if nothing is under way as far as it knows; the peer hears of
    /// it in its own time. What the peer has sent meanwhile comes to nothing. False: something is.
    pub fn evict(&mut self, pipe: usize) -> bool {
        let (node, subchannel) = self.pipes[pipe].from;
        let idle = self.nodes[node].engine.idle_peers();
        let is_idle = idle.iter().any(|(vc, since)| *vc == subchannel.vc && since.0 <= self.now);
        if is_idle {
            self.evicted(pipe);
            let hears_at = self.now + self.rng.below(500_000);
            self.schedule(hears_at, Event::Evicted(pipe ^ 1));
        }
        is_idle
    }

    pub(super) fn evicted(&mut self, pipe: usize) {
        if self.pipes[pipe].has_ended {
            return;
        }
        self.close(pipe);
        let (node, subchannel) = self.pipes[pipe].from;
        self.nodes[node].engine.subchannel_evicted(subchannel);
        self.pump(node);
    }

    /// The node at the start of a pipe sends and reads nothing more over its connection.
    fn close(&mut self, pipe: usize) {
        self.pipes[pipe].has_ended = true;
        self.pipes[pipe].cut = true;
        self.pipes[pipe ^ 1].dead = true;
        self.pipes[pipe ^ 1].frames.clear();
    }

    pub(super) fn ended(&mut self, pipe: usize) {
        if self.pipes[pipe].has_ended {
            return;
        }
        self.cut(pipe);
        self.close(pipe);
        let (node, subchannel) = self.pipes[pipe].from;
        let why = format!("rail {} was cut", self.pipes[pipe].rail_number);
        self.nodes[node].engine.subchannel_down(Instant(self.now), subchannel, &why);
        self.pump(node);
    }
}
