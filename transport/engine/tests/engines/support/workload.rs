//! Random commands.

use fishplate_engine::{Context, Envelope, INJECT_SIZE, Pattern, PeekAction, Space};

use super::oracle::Outgoing;
use super::world::World;

/// Tags in use: few, so that there is something to match.
const TAGS: u64 = 4;
/// Bits above the tag that receives may ignore.
const IGNORE: u64 = 0xff00;

pub const ANY_TAG: Space = Space::Tagged { tag: 0, ignore: u64::MAX };

pub fn space(envelope: Envelope) -> Space {
    match envelope {
        Envelope::Message => Space::Message,
        Envelope::Tagged(tag) => Space::Tagged { tag, ignore: 0 },
    }
}

/// How the commands are mixed, in percent; what is left are sends.
#[derive(Clone, Copy)]
pub struct Mix {
    pub commands: u64,
    pub receives: u64,
    pub multi_receives: u64,
    pub peeks: u64,
    pub cancels: u64,
    /// Reads and writes of remote memory.
    pub accesses: u64,
    /// Ends of registered memory.
    pub ends: u64,
    pub to_self: u64,
    /// In a thousand messages.
    pub huge: u64,
    /// Longest time between two commands.
    pub pause_ns: u64,
}

pub const USUAL: Mix =
    Mix { commands: 300, receives: 32, multi_receives: 3, peeks: 5, cancels: 3, accesses: 14, ends: 3, ..NOTHING };

const NOTHING: Mix = Mix {
    commands: 0,
    receives: 0,
    multi_receives: 0,
    peeks: 0,
    cancels: 0,
    accesses: 0,
    ends: 0,
    to_self: 8,
    huge: 8,
    pause_ns: 40_000,
};

impl World {
    /// Issues random commands while things move.
    pub fn mess_about(&mut self, mix: Mix) {
        for _ in 0..mix.commands {
            let node = self.rng.below(self.nodes.len() as u64) as usize;
            self.command(node, mix);
            if self.rng.percent(20) {
                self.buffer_sends(node);
            }
            if self.rng.percent(60) {
                let until = self.now + self.rng.below(mix.pause_ns);
                self.run(until);
            }
        }
    }

    fn command(&mut self, node: usize, mix: Mix) {
        let mut dice = self.rng.below(100);
        let mut is = |share: u64| {
            let hit = dice < share;
            dice = if hit { u64::MAX } else { dice.saturating_sub(share) };
            hit
        };
        if is(mix.receives) {
            let (pattern, len) = (self.pattern(node), self.len(mix));
            let len = if self.rng.percent(70) { len.max(100_000) } else { len };
            self.recv(node, pattern, len, None);
        } else if is(mix.multi_receives) {
            let pattern = self.pattern(node);
            let len = self.rng.range(1, 300_000);
            let min_free = *self.rng.pick(&[0, 1, 1000, 16_384]);
            self.recv(node, pattern, len, Some(min_free));
        } else if is(mix.peeks) {
            let pattern = self.pattern(node);
            let then = *self.rng.pick(&[PeekAction::Leave, PeekAction::Claim, PeekAction::Discard]);
            self.peek(node, pattern, then);
            if self.rng.percent(50) {
                let discard = self.rng.percent(30);
                self.settle_claim(node, discard);
            }
        } else if is(mix.cancels) {
            self.cancel_any(node);
        } else if is(mix.accesses) {
            self.access(node, mix);
        } else if is(mix.ends) {
            self.end_any_exposure(node);
        } else {
            let outgoing = self.outgoing(node, mix);
            self.send(node, outgoing);
        }
    }

    fn cancel_any(&mut self, node: usize) {
        let waiting = self.oracle.receives().filter(|(_, receive)| receive.node == node && !receive.ended);
        let waiting: Vec<u64> = waiting.map(|(context, _)| context).collect();
        if !waiting.is_empty() {
            let context = Context(*self.rng.pick(&waiting));
            self.cancel(node, context);
        }
    }

    fn outgoing(&mut self, node: usize, mix: Mix) -> Outgoing {
        let nodes = self.nodes.len() as u64;
        let other = (node as u64 + self.rng.range(1, nodes)) % nodes;
        let to = if self.rng.percent(mix.to_self) { node } else { other as usize };
        let envelope = if self.rng.percent(30) {
            Envelope::Message
        } else {
            Envelope::Tagged(self.rng.below(TAGS) | (self.rng.below(3) << 8))
        };
        let len = self.len(mix);
        let inject = self.rng.percent(30);
        let len = if inject { len % (INJECT_SIZE + 1) } else { len };
        Outgoing { to, envelope, len, inject, notify: !inject && self.rng.percent(90) }
    }

    fn pattern(&mut self, node: usize) -> Pattern {
        let space = match self.rng.below(10) {
            0..3 => Space::Message,
            3..7 => Space::Tagged { tag: self.rng.below(TAGS) | (self.rng.below(3) << 8), ignore: 0 },
            7..9 => Space::Tagged { tag: self.rng.below(TAGS) | 0x7700, ignore: IGNORE },
            _ => ANY_TAG,
        };
        let peer = self.rng.below(self.nodes.len() as u64) as usize;
        let source = self.rng.percent(50).then_some(self.nodes[node].vcs[peer]);
        Pattern { space, source }
    }

    fn len(&mut self, mix: Mix) -> u64 {
        let eager = self.setup.config.eager_limit.unwrap_or(16 << 10);
        if self.rng.below(1000) < mix.huge {
            return self.rng.range(1 << 20, 5 << 20);
        }
        match self.rng.below(8) {
            0 => 0,
            1 => 1,
            2 => eager.saturating_sub(1) + self.rng.below(3),
            3 => self.rng.below(4 * eager + 1),
            4 => self.rng.below(200_000),
            _ => self.rng.below(300),
        }
    }
}
