//! Subchannels that are given back while nothing is under way, as the driver of either side needs their file descriptors.

use std::collections::BTreeSet;

use super::Engine;
use crate::channel::State;
use crate::ids::{SubchannelId, VcId};
use crate::matching::unmatched::{Content, UnmatchedMessage};
use crate::time::Instant;

impl Engine {
    /// The idle peers: those that have subchannels and with which nothing is under way in either direction, as far as this side
    /// knows. Each comes with the time when something last came from it or was acknowledged by it. Receives that are posted for
    /// a peer do not count: no message for them has been sent.
    pub fn idle_peers(&self) -> Vec<(VcId, Instant)> {
        let sends = self.sends.values().map(|send| send.vc);
        let partly_received = self.reassemblies.values().map(|reassembly| reassembly.vc);
        let announced = self.unmatched.values().filter(|message| is_incomplete(message)).map(|message| message.vc);
        let busy: BTreeSet<VcId> = sends.chain(partly_received).chain(announced).collect();
        let all = (0..self.vcs.len() as u32).map(VcId);
        all.filter(|vc| !busy.contains(vc)).filter_map(|vc| Some((vc, self.idle_since(vc)?))).collect()
    }

    /// Since when nothing has moved over the subchannels of `vc`. `None`: something is on its way, or it has none.
    fn idle_since(&self, vc: VcId) -> Option<Instant> {
        let channel = &self.vcs[vc.0 as usize];
        let is_reading = self.incoming[vc.0 as usize].iter().any(|frames| frames.oldest().is_some());
        if channel.state != State::Open || !channel.is_idle() || is_reading {
            return None;
        }
        let live = || channel.subchannels.iter().filter(|subchannel| subchannel.live);
        let is_quiet = live().all(|subchannel| subchannel.is_quiet() && subchannel.refusals.is_empty());
        live().map(|subchannel| subchannel.liveness.since()).max().filter(|_| is_quiet)
    }

    /// A subchannel has been given back, by this side or the peer's: neither its path nor the peer has failed. What it leaves
    /// behind goes over the others. Without any other it waits for the next one, for as long as that takes: the driver sets one
    /// up once the channel [has a backlog](Engine::has_backlog).
    pub fn subchannel_evicted(&mut self, subchannel: SubchannelId) {
        let (vc, index) = (subchannel.vc, usize::from(subchannel.index));
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.subchannels.get(index).is_some_and(|subchannel| subchannel.live) {
            channel.end_subchannel(index);
            self.interrupt(subchannel);
            self.make_ready(vc);
        }
    }
}

/// Whether the peer may still have to send something of it. Announced messages count even if all of their early data have come.
fn is_incomplete(message: &UnmatchedMessage) -> bool {
    matches!(message.content, Content::Rendezvous { .. } | Content::Eager { is_complete: false, .. })
}

#[cfg(test)]
mod tests {
    use crate::channel::VirtualChannel;
    use crate::channel::subchannel::Subchannel;
    use crate::config::Config;
    use crate::ids::{RailId, VcId};
    use crate::time::Instant;

    #[test]
    fn idle_credit_is_kept_while_there_is_no_subchannel_over_which_to_return_it() {
        let mut channel = VirtualChannel::new(VcId(0), &Config::default(), 1 << 20, false);
        channel.credit.set_grant(1 << 20);
        channel.credit.update(1 << 20);
        channel.schedule_idle_check(Instant(0));
        let due = |channel: &VirtualChannel| channel.idle_check().unwrap();
        let first = due(&channel);
        assert!(!channel.check_idle(first) && channel.is_idle());
        channel.add(Subchannel::new(RailId(0), None));
        let second = due(&channel);
        assert!(second > first && channel.check_idle(second) && !channel.is_idle());
    }
}
