//! The rails of a node: how their links come about, and what becomes of them, as `endpoint/ofi/` does it.

use std::collections::BTreeMap;

use fishplate_engine::{Instant, RailId, SubchannelId, VcId};
use fishplate_link_core::Places;

use super::{BUDGET, Node, Over};
use crate::rail::{Names, Rail};
use crate::simulated::{SharedNetwork, SimulatedPort};
use crate::{Answer, Description, Failure, News};

/// First and longest pause after a failure, in nanoseconds.
const PAUSES_NS: (u64, u64) = (500_000_000, 60_000_000_000);
/// Places of one node, at most.
const MAX_RAILS: usize = 8;

/// The description of a future link, for the peer.
pub struct Announcement {
    pub to: VcId,
    pub own: Description,
}

pub struct SimulatedRail {
    pub rail: Rail<SimulatedPort>,
    network: SharedNetwork,
    place: usize,
    ordinal: u8,
    /// Its domain is gone: it cannot be opened anew.
    pub is_gone: bool,
    /// Links to be and those that are up, by the rail's names.
    ends: BTreeMap<usize, End>,
    /// When links that have failed are set up anew, and how long the pause is.
    pauses: BTreeMap<u32, (u64, u64)>,
    /// When it is opened anew, if it is closed.
    reopen_at_ns: u64,
}

struct End {
    vc: VcId,
    subchannel: Option<SubchannelId>,
}

/// The place of a rail of a node in the network.
pub fn place(node: usize, rail: usize) -> usize {
    node * MAX_RAILS + rail
}

impl SimulatedRail {
    pub fn new(network: &SharedNetwork, node: usize, rail: usize) -> SimulatedRail {
        let (place, ordinal) = (place(node, rail), rail as u8);
        SimulatedRail {
            rail: open(network, place, ordinal),
            network: network.clone(),
            place,
            ordinal,
            is_gone: false,
            ends: BTreeMap::new(),
            pauses: BTreeMap::new(),
            reopen_at_ns: 0,
        }
    }

    pub fn next_at(&self) -> Option<u64> {
        let reopening = (!self.rail.is_open() && self.ends.is_empty()).then_some(self.reopen_at_ns);
        self.pauses.values().map(|(until, _)| *until).filter(|until| *until < u64::MAX).chain(reopening).min()
    }

    fn end_to(&self, vc: VcId) -> Option<usize> {
        self.ends.iter().find(|(_, end)| end.vc == vc).map(|(at, _)| *at)
    }
}

fn open(network: &SharedNetwork, place: usize, ordinal: u8) -> Rail<SimulatedPort> {
    let name = format!("simulated:{ordinal}");
    let names = Names { provider: "simulated".into(), fabric: "net".into(), name };
    let mut rail = Rail::over(SimulatedPort::open(network, place), names, None).expect("there is memory");
    rail.ordinal = ordinal;
    if network.borrow().changes_bits() {
        rail.add_checksums();
    }
    rail
}

impl Node {
    /// Tells all peers of a rail that is open.
    pub fn offer_to_all(&mut self, rail: usize) {
        for stream in self.streams.clone().into_iter().flatten() {
            match self.rails[rail].end_to(stream.vc) {
                None => _ = self.offer(rail, stream.vc),
                Some(end) => self.tell(rail, end, stream.vc),
            }
        }
    }

    /// Tells a peer of a link to be.
    pub(super) fn offer(&mut self, rail: usize, to: VcId) -> Option<usize> {
        let own = &mut self.rails[rail];
        if !own.rail.is_open() {
            return None;
        }
        let end = own.rail.offer().expect("there is memory");
        own.ends.insert(end, End { vc: to, subchannel: None });
        self.tell(rail, end, to);
        Some(end)
    }

    /// Tells a peer of this side's end of a link.
    fn tell(&mut self, rail: usize, end: usize, to: VcId) {
        let own = self.rails[rail].rail.description(end);
        self.announcements.extend(own.map(|own| Announcement { to, own }));
    }

    /// A peer has described its side of a link.
    pub fn described(&mut self, now: Instant, peer: usize, theirs: &Description) {
        let (vc, rail) = (self.vcs[peer], usize::from(theirs.ordinal));
        if self.lost.contains(&vc) {
            return;
        }
        let known = self.rails[rail].end_to(vc);
        let Some(end) = known.or_else(|| self.offer(rail, vc)) else { return };
        match self.rails[rail].rail.answer(end, theirs).expect("an address of the network") {
            Answer::Taken if known.is_some() => self.tell(rail, end, vc),
            Answer::Outdated => {
                self.rail_ended(now, (rail, end), "the peer has set it up anew");
                if let Some(end) = self.offer(rail, vc) {
                    self.rails[rail].rail.answer(end, theirs).expect("an address of the network");
                }
            }
            Answer::Taken | Answer::Known => {}
        }
    }

    /// Moves data of all links. True if there was anything.
    pub(super) fn poll_rails(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for rail in 0..self.rails.len() {
            let Node { rails, memory, bounces, .. } = self;
            if !rails[rail].rail.poll(Places { memory, bounces }) {
                continue;
            }
            moved = true;
            while let Some((end, news)) = self.rails[rail].rail.next(&self.memory, &mut self.bounces) {
                self.news(now, (rail, end), news);
            }
        }
        moved
    }

    fn news(&mut self, now: Instant, (rail, end): (usize, usize), news: News) {
        let subchannel = self.rails[rail].ends.get(&end).and_then(|end| end.subchannel);
        match (news, subchannel) {
            (News::Up, _) => self.up(rail, end),
            (News::Failed(Failure::Broken(why)), _) => self.rail_ended(now, (rail, end), &why),
            (News::Failed(Failure::Changed), _) => self.rail_ended(now, (rail, end), "a record was changed"),
            (News::Failed(Failure::Protocol(how)), _) => panic!("a peer broke the protocol: {how}"),
            (News::Header(header), Some(subchannel)) => {
                let Some(placement) = self.header_received(now, subchannel, &header) else { return };
                if header.body.payload_len() > 0 {
                    self.rails[rail].rail.place(end, placement, &self.memory, &mut self.bounces);
                }
            }
            (News::Placed(_), Some(subchannel)) => {
                self.engine.payload_placed(now, subchannel);
                self.apply_memory_actions(now);
            }
            (News::Writable, Some(subchannel)) => self.engine.writable(subchannel, BUDGET),
            (News::Header(_) | News::Placed(_) | News::Writable, None) => {}
        }
    }

    fn up(&mut self, rail: usize, at: usize) {
        let end = self.rails[rail].ends.get_mut(&at).expect("news of a link that is there");
        let Ok(subchannel) = self.engine.subchannel_up(end.vc, RailId(rail as u8 + 1), None, 0) else { return };
        end.subchannel = Some(subchannel);
        self.links.insert((subchannel.vc.0, subchannel.index), Over::Rail { rail, end: at });
        self.engine.writable(subchannel, BUDGET);
    }

    /// A link, or what was to become one, has failed.
    pub(super) fn rail_ended(&mut self, now: Instant, (rail, at): (usize, usize), why: &str) {
        let Some(end) = self.rails[rail].ends.remove(&at) else { return };
        self.rails[rail].rail.remove(at, &mut self.bounces);
        let pause = self.rails[rail].pauses.entry(end.vc.0).or_default();
        pause.1 = (2 * pause.1).clamp(PAUSES_NS.0, PAUSES_NS.1);
        pause.0 = now.0 + pause.1;
        if let Some(subchannel) = end.subchannel {
            self.links.remove(&(subchannel.vc.0, subchannel.index));
            self.engine.subchannel_down(now, subchannel, why);
            self.apply_memory_actions(now);
        }
    }

    /// Takes out all of what a peer has.
    pub(super) fn remove_ends(&mut self, vc: VcId) {
        for own in &mut self.rails {
            while let Some(at) = own.end_to(vc) {
                own.ends.remove(&at);
                own.rail.remove(at, &mut self.bounces);
            }
            own.pauses.remove(&vc.0);
        }
    }

    /// Whether there is a link over every rail to every peer that is not lost.
    pub fn are_rails_up(&self) -> bool {
        let peers = self.vcs.len() - 1 - self.lost.len();
        self.rails.iter().all(|own| own.ends.values().filter(|end| end.subchannel.is_some()).count() == peers)
    }

    /// Sets up anew what has failed.
    pub(super) fn service_rails(&mut self, now: Instant) {
        for rail in 0..self.rails.len() {
            let own = &mut self.rails[rail];
            if !own.rail.is_open() && own.ends.is_empty() && own.reopen_at_ns <= now.0 {
                own.reopen_at_ns = now.0 + PAUSES_NS.0;
                if !own.is_gone {
                    own.rail = open(&own.network, own.place, own.ordinal);
                    self.offer_to_all(rail);
                }
            }
            let due = self.rails[rail].pauses.iter_mut().filter(|(_, (until, _))| *until <= now.0);
            let due: Vec<VcId> = due
                .map(|(vc, (until, _))| {
                    *until = u64::MAX;
                    VcId(*vc)
                })
                .collect();
            for vc in due {
                if !self.lost.contains(&vc) && self.rails[rail].end_to(vc).is_none() && self.offer(rail, vc).is_none() {
                    // It is closed: once more when it may be open.
                    self.rails[rail].pauses.entry(vc.0).or_default().0 = now.0 + PAUSES_NS.0;
                }
            }
        }
    }
}
