//! Communicators of ranks, as their traces define them. Ranks of one communicator share data that do not depend on the rank.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::mpi::collectives::Group;
use crate::mpi::program::Tag;

/// Messages of collective operations have this bit in their tags.
const COLLECTIVE: Tag = 1 << 63;
/// Bits of a tag that are the program's tag, or the number of a collective operation.
pub const OWN_BITS: u32 = 32;
/// Tags of answers have one more bit (see `ANSWER`).
const CONTEXT_BITS: u32 = 30;

/// A communicator, as one rank knows it.
pub struct Communicator {
    members: Rc<Members>,
    context: Tag,
    collectives: u32,
}

/// Its ranks, by host as well.
pub struct Members {
    pub group: Group,
    /// Ranks of each host, and the first of each host, where hosts matter.
    by_host: Option<(BTreeMap<u32, Group>, Group)>,
    hosts: Rc<Vec<u32>>,
}

/// A communicator's ranks by host, as seen by one of them.
#[derive(Clone, Copy)]
pub struct ByHost<'a> {
    /// Ranks on this rank's host.
    pub local: &'a Group,
    /// The first of each host.
    pub leaders: &'a Group,
    hosts: &'a [u32],
    host: u32,
}

impl Members {
    fn new(members: &[u32], hosts: &Rc<Vec<u32>>) -> Members {
        let mut local: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut leaders = Vec::new();
        for rank in members {
            let host = hosts.get(*rank as usize).copied().unwrap_or(u32::MAX);
            let of_host = local.entry(host).or_default();
            if of_host.is_empty() {
                leaders.push(*rank);
            }
            of_host.push(*rank);
        }
        // As MPI libraries do it: hosts matter where some have several ranks, and there are several hosts.
        let matters = leaders.len() > 1 && leaders.len() < members.len();
        let groups = |(host, ranks)| (host, Group::list(ranks));
        let by_host = matters.then(|| (local.into_iter().map(groups).collect(), Group::list(leaders)));
        Members { group: Group::list(members.to_vec()), by_host, hosts: hosts.clone() }
    }

    /// Ranks by host, for the algorithms of a rank; `None` if hosts are irrelevant.
    pub fn by_host(&self, rank: u32) -> Option<ByHost<'_>> {
        let (local, leaders) = self.by_host.as_ref()?;
        let host = *self.hosts.get(rank as usize)?;
        Some(ByHost { local: local.get(&host)?, leaders, hosts: &self.hosts, host })
    }
}

impl ByHost<'_> {
    /// The ranks of the host of `root`, and the leaders of all hosts, both with `root` first.
    pub fn rooted(&self, root: u32) -> (Group, Group) {
        let host = |rank: u32| self.hosts[rank as usize];
        let first = |group: &Group| {
            let place = (0..group.len()).find(|place| group.rank(*place) == root);
            place.map_or(group.clone(), |place| group.rooted(place))
        };
        let local = if host(root) == self.host { first(self.local) } else { self.local.clone() };
        let leader = |place| {
            let leader = self.leaders.rank(place);
            if host(leader) == host(root) { root } else { leader }
        };
        (local, first(&Group::list((0..self.leaders.len()).map(leader).collect())))
    }
}

impl Communicator {
    pub fn members(&self) -> &Rc<Members> {
        &self.members
    }

    /// The tag of a message with a tag of the program's.
    pub fn tag(&self, tag: i32) -> Tag {
        self.context << OWN_BITS | u64::from(tag as u32)
    }

    /// The tag of the messages of the next collective operation.
    pub fn next_collective(&mut self) -> Tag {
        self.collectives = self.collectives.wrapping_add(1);
        COLLECTIVE | self.context << OWN_BITS | u64::from(self.collectives)
    }
}

/// The ranks of all communicators of all ranks.
pub struct AllMembers {
    hosts: Rc<Vec<u32>>,
    known: RefCell<BTreeMap<Vec<u32>, Rc<Members>>>,
}

impl AllMembers {
    /// None yet; `hosts`: where each rank is.
    pub fn new(hosts: Vec<u32>) -> AllMembers {
        AllMembers { hosts: Rc::new(hosts), known: RefCell::default() }
    }

    fn of(&self, ranks: &[u32]) -> Rc<Members> {
        let mut known = self.known.borrow_mut();
        if let Some(members) = known.get(ranks) {
            return members.clone();
        }
        let members = Rc::new(Members::new(ranks, &self.hosts));
        known.insert(ranks.to_vec(), members.clone());
        members
    }
}

/// All that a rank knows.
pub struct Communicators {
    members: Rc<AllMembers>,
    known: BTreeMap<u32, Communicator>,
}

impl Communicators {
    /// None.
    pub fn new(members: &Rc<AllMembers>) -> Communicators {
        Communicators { members: members.clone(), known: BTreeMap::new() }
    }

    /// One becomes known, or another one with its number.
    pub fn define(&mut self, number: u32, context: u64, ranks: &[u32]) {
        let context = context & ((1 << CONTEXT_BITS) - 1);
        self.known.insert(number, Communicator { members: self.members.of(ranks), context, collectives: 0 });
    }

    /// One that was defined; an empty one otherwise.
    pub fn get(&mut self, number: u32) -> &mut Communicator {
        let members = &self.members;
        let empty = || Communicator { members: members.of(&[]), context: 0, collectives: 0 };
        self.known.entry(number).or_insert_with(empty)
    }
}
