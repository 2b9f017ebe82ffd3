//! What must hold at the end of a run.

use std::collections::BTreeMap;

use fishplate_engine::limits::MAX_ANNOUNCED;
use fishplate_engine::{Envelope, Pattern, Space};

use super::oracle::{Command, Message, Outgoing, Receive};
use super::workload::ANY_TAG;
use super::world::World;

/// What the wire charges to the grant for a message, beside its payload.
const MESSAGE_CHARGE: u64 = 128;

impl World {
    fn is_parted(&self, message: &Message) -> bool {
        self.parted.contains(&(message.from, message.to))
    }

    /// Lets every message find a receive, then ends what is left over; all must then have ended.
    pub fn finish(&mut self) {
        self.run_out();
        self.check_nothing_matches();
        for node in 0..self.nodes.len() {
            while self.oracle.claims.iter().any(|(of, ..)| *of == node) {
                let discard = self.rng.percent(50);
                self.settle_claim(node, discard);
            }
        }
        self.run_out();
        self.receive_the_rest();
        self.check_order();
        self.check_directed();
        let waiting: Vec<_> = self.waiting().collect();
        for (context, node) in waiting {
            assert!(self.cancel(node, fishplate_engine::Context(context)), "receive {context} cannot be cancelled");
        }
        self.run_out();
        self.check_accesses();
        self.check_ended();
    }

    /// No receive waits for a lost peer.
    fn check_directed(&self) {
        for (context, receive) in self.oracle.receives().filter(|(_, receive)| !receive.ended) {
            let peer = receive.pattern.source.map(|vc| self.nodes[receive.node].peer(vc));
            let lost = peer.is_some_and(|peer| self.parted.contains(&(receive.node, peer)));
            assert!(!lost, "seed {}: receive {context} waits for a lost peer", self.setup.seed);
        }
    }

    fn waiting(&self) -> impl Iterator<Item = (u64, usize)> {
        self.oracle.receives().filter(|(_, receive)| !receive.ended).map(|(context, receive)| (context, receive.node))
    }

    /// Whether there is a message that nothing has taken, apart from those of lost peers.
    fn is_open(&self, message: &Message) -> bool {
        message.taken.is_none() && !self.is_parted(message)
    }

    fn receive_the_rest(&mut self) {
        loop {
            let open = self.oracle.messages().filter(|(_, message)| self.is_open(message));
            let open: Vec<_> = open.map(|(_, message)| (message.to, message.envelope, message.len)).collect();
            if open.is_empty() {
                return;
            }
            let before = self.oracle.ended_receives;
            for (to, envelope, len) in &open {
                let space = match envelope {
                    Envelope::Message => Space::Message,
                    Envelope::Tagged(_) => ANY_TAG,
                };
                self.recv(*to, Pattern { space, source: None }, *len, None);
            }
            self.run_out();
            // Some may have gone to messages that a lost peer has left.
            let some = self.oracle.ended_receives > before;
            assert!(some, "seed {}: {} messages are stuck", self.setup.seed, open.len());
        }
    }

    /// When nothing moves any more, no receive waits while a message that it accepts does.
    fn check_nothing_matches(&self) {
        let seed = self.setup.seed;
        // A sender that can announce no more holds back all but its oldest.
        let reach = if self.setup.config.max_announced < MAX_ANNOUNCED { 1 } else { usize::MAX };
        let waiting = |receive: &Receive| !receive.ended && !receive.multi;
        for messages in self.by_pair().values() {
            for (id, message) in messages.iter().filter(|(_, message)| self.is_open(message)).take(reach) {
                let vc = self.nodes[message.to].vcs[message.from];
                for (context, receive) in self.oracle.receives().filter(|(_, receive)| waiting(receive)) {
                    let accepts = message.to == receive.node && receive.pattern.accepts(vc, message.envelope);
                    assert!(!accepts, "seed {seed}: message {id} does not reach receive {context}");
                }
            }
        }
    }

    fn by_pair(&self) -> BTreeMap<(usize, usize), Vec<(u64, &Message)>> {
        let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, message) in self.oracle.messages() {
            pairs.entry((message.from, message.to)).or_default().push((id, message));
        }
        pairs
    }

    /// Of two messages of one sender that a receive accepts, it or an earlier one has taken the earlier message.
    fn check_order(&self) {
        let pattern = |context: u64| match &self.oracle.commands[context as usize] {
            Command::Recv(receive) => receive.pattern,
            Command::Peek(peek) => peek.pattern,
            Command::Send(_) | Command::Access(_) => unreachable!("it takes no message"),
        };
        for messages in self.by_pair().values() {
            for (at, (later_id, later)) in messages.iter().enumerate().filter(|(_, (_, later))| !self.is_parted(later))
            {
                let Some(taken) = later.taken else { continue };
                let pattern = pattern(taken.0);
                let vc = self.nodes[later.to].vcs[later.from];
                for (id, earlier) in &messages[..at] {
                    let overtaken = earlier.taken.is_none_or(|earlier| earlier > taken);
                    let seed = self.setup.seed;
                    assert!(
                        !overtaken || !pattern.accepts(vc, earlier.envelope),
                        "seed {seed}: message {later_id} overtook {id}"
                    );
                }
            }
        }
    }

    fn check_ended(&self) {
        let seed = self.setup.seed;
        for (id, message) in self.oracle.messages() {
            assert!(message.ended, "seed {seed}: send {id} of {} bytes has not ended", message.len);
        }
        for (id, receive) in self.oracle.receives() {
            assert!(receive.ended, "seed {seed}: receive {id} has not ended");
        }
        for (at, node) in self.nodes.iter().enumerate() {
            assert!(node.engine.is_quiet(), "seed {seed}: engine {at} is not quiet");
            // What had arrived whole from a lost peer stays.
            if self.parted.is_empty() {
                assert_eq!(node.memory.bounces(), 0, "seed {seed}: engine {at} keeps bounce buffers");
            }
        }
    }

    /// Everybody floods everybody without a receive: exactly what may wait must get through, or credit has leaked.
    pub fn check_credit(&mut self) {
        let announced = self.setup.config.max_announced;
        let before: Vec<u64> = self.pipes.iter().map(|pipe| pipe.messages).collect();
        let most = |world: &World, from: usize, to: usize| {
            let receiver = &world.nodes[to];
            receiver.engine.grant(receiver.vcs[from]) / MESSAGE_CHARGE + announced
        };
        for from in 0..self.nodes.len() {
            for to in (0..self.nodes.len()).filter(|to| *to != from) {
                for _ in 0..most(self, from, to) + 10 {
                    let outgoing = Outgoing { to, envelope: Envelope::Message, len: 0, inject: false, notify: true };
                    self.send(from, outgoing);
                }
            }
        }
        self.run_out();
        for from in 0..self.nodes.len() {
            for to in (0..self.nodes.len()).filter(|to| *to != from && !self.parted.contains(&(from, *to))) {
                let between = self.pipes.iter().zip(&before);
                let between = between.filter(|(pipe, _)| (pipe.from.0, pipe.to.0) == (from, to));
                let sent: u64 = between.map(|(pipe, before)| pipe.messages - before).sum();
                assert_eq!(
                    sent,
                    most(self, from, to),
                    "seed {}: credit of {from} with {to} has leaked",
                    self.setup.seed
                );
            }
        }
        self.finish();
    }
}
