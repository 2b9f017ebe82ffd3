//! The channels of a process: by peer, with their flows, and which it uses. Small where there are few of many.

use fishplate_engine::{SubchannelId, VcId};

use crate::models::flow::FlowId;

/// Peers in a block of the table: blocks without channels take no memory.
const BLOCK: usize = 64;
/// Stands for no channel.
const NONE: u32 = u32::MAX;
/// Channels that a process uses in turn at most: programs exchange with up to 26 neighbours in space.
const RECENT: usize = 32;

/// Virtual channels by peer.
pub struct Channels(Vec<Option<Box<[u32; BLOCK]>>>);

impl Channels {
    /// No flows yet, to `peers` peers.
    pub fn new(peers: usize) -> Channels {
        Channels(vec![None; peers.div_ceil(BLOCK)])
    }

    /// The channel to a peer, if there is one.
    pub fn get(&self, peer: u32) -> Option<VcId> {
        let block = self.0[peer as usize / BLOCK].as_ref()?;
        Some(block[peer as usize % BLOCK]).filter(|vc| *vc != NONE).map(VcId)
    }

    /// The channel to a peer is this one.
    pub fn insert(&mut self, peer: u32, vc: VcId) {
        let block = self.0[peer as usize / BLOCK].get_or_insert_with(|| Box::new([NONE; BLOCK]));
        block[peer as usize % BLOCK] = vc.0;
    }
}

/// Flows by virtual channel and subchannel. All flows of a channel are created together, in pairs of both directions.
#[derive(Default)]
pub struct Flows(Vec<(FlowId, u8)>);

impl Flows {
    /// Whether there are no channels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A channel without subchannels.
    pub fn open(&mut self) {
        self.0.push((FlowId(0), 0));
    }

    /// The flow of a channel's next subchannel: two behind that of the one before.
    pub fn push(&mut self, vc: VcId, flow: FlowId) {
        let (first, count) = &mut self.0[vc.0 as usize];
        if *count == 0 {
            *first = flow;
        }
        *count += 1;
        debug_assert_eq!(flow, at(*first, *count - 1));
    }

    pub fn of(&self, subchannel: SubchannelId) -> FlowId {
        at(self.0[subchannel.vc.0 as usize].0, subchannel.index)
    }

    pub fn iter(&self) -> impl Iterator<Item = (SubchannelId, FlowId)> {
        let of = |(vc, (first, count)): (u32, &(FlowId, u8))| {
            let (vc, first) = (VcId(vc), *first);
            (0..*count).map(move |index| (SubchannelId { vc, index }, at(first, index)))
        };
        (0..).zip(&self.0).flat_map(of)
    }
}

fn at(first: FlowId, index: u8) -> FlowId {
    FlowId(first.0 + 2 * u32::from(index))
}

/// The channels that were used last.
#[derive(Default)]
pub struct Recent {
    channels: Vec<VcId>,
    /// Where the one is that came first.
    oldest: usize,
}

impl Recent {
    /// One is used. Returns the one that is not among the last any more.
    pub fn add(&mut self, vc: VcId) -> Option<VcId> {
        if self.channels.contains(&vc) {
            return None;
        }
        if self.channels.len() < RECENT {
            self.channels.push(vc);
            return None;
        }
        let left = std::mem::replace(&mut self.channels[self.oldest], vc);
        self.oldest = (self.oldest + 1) % RECENT;
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_found_by_peer() {
        let mut channels = Channels::new(130);
        [(0, 3), (63, 1), (129, 0)].into_iter().for_each(|(peer, vc)| channels.insert(peer, VcId(vc)));
        let found: Vec<u32> = (0..130).filter_map(|peer| Some(channels.get(peer)?.0)).collect();
        assert_eq!(found, [3, 1, 0]);
    }

    #[test]
    fn flows_of_a_channel_follow_each_other_in_pairs() {
        let mut flows = Flows::default();
        (0..2).for_each(|_| flows.open());
        [7, 9].into_iter().for_each(|flow| flows.push(VcId(1), FlowId(flow)));
        let all: Vec<_> = flows.iter().map(|(subchannel, flow)| (subchannel.vc.0, subchannel.index, flow.0)).collect();
        assert_eq!(all, [(1, 0, 7), (1, 1, 9)]);
        assert_eq!(flows.of(SubchannelId { vc: VcId(1), index: 1 }), FlowId(9));
    }

    #[test]
    fn the_one_that_came_first_leaves() {
        let mut recent = Recent::default();
        assert!((0..RECENT as u32).all(|vc| recent.add(VcId(vc)).is_none()));
        assert_eq!([5, 100, 101, 5].map(|vc| recent.add(VcId(vc))), [None, Some(VcId(0)), Some(VcId(1)), None]);
    }
}
