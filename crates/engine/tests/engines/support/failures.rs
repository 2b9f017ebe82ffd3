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

    pub(super) fn ended(&mut self, pipe: usize) {
        if self.pipes[pipe].has_ended {
            return;
        }
        self.pipes[pipe].has_ended = true;
        self.cut(pipe);
        let (node, subchannel) = self.pipes[pipe].from;
        // It reads nothing more.
        self.pipes[pipe ^ 1].dead = true;
        self.pipes[pipe ^ 1].frames.clear();
        let why = format!("rail {} was cut", self.pipes[pipe].rail_number);
        self.nodes[node].engine.subchannel_down(Instant(self.now), subchannel, &why);
        self.pump(node);
    }
}
