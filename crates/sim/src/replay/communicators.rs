//! Communicators of a rank, as its trace defines them.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::mpi::collectives::Group;
use crate::mpi::program::Tag;

/// Messages of collective operations have this bit in their tags.
const COLLECTIVE: Tag = 1 << 63;
/// Bits of a tag that are the program's tag, or the number of a collective operation.
pub const OWN_BITS: u32 = 32;
const CONTEXT_BITS: u32 = 31;

/// A communicator.
pub struct Communicator {
    /// Its ranks.
    pub group: Group,
    /// Those of this rank's host, and the first of each host, where a host has several.
    pub by_host: Option<ByHost>,
    context: Tag,
    collectives: u32,
}

/// A communicator's ranks by host.
#[derive(Clone)]
pub struct ByHost {
    /// Those of this rank's host.
    pub local: Group,
    /// The first of each host.
    pub leaders: Group,
    hosts: Rc<Vec<u32>>,
    me: u32,
}

impl ByHost {
    /// The same with a rank in the first place: of its host, and of all hosts.
    pub fn rooted(&self, root: u32) -> (Group, Group) {
        let host = |rank: u32| self.hosts.get(rank as usize);
        let first = |group: &Group| {
            let place = (0..group.len()).find(|place| group.rank(*place) == root);
            place.map_or(group.clone(), |place| group.rooted(place))
        };
        let local = if host(root) == host(self.me) { first(&self.local) } else { self.local.clone() };
        let leader = |place| {
            let leader = self.leaders.rank(place);
            if host(leader) == host(root) { root } else { leader }
        };
        (local, first(&Group::list((0..self.leaders.len()).map(leader).collect())))
    }
}

impl Communicator {
    fn new(members: &[u32], context: u64, me: u32, hosts: &Rc<Vec<u32>>) -> Communicator {
        let host = |rank: &u32| hosts.get(*rank as usize);
        let local: Vec<u32> = members.iter().copied().filter(|rank| host(rank) == host(&me)).collect();
        let is_first = |at: usize| members[..at].iter().all(|other| host(other) != host(&members[at]));
        let leaders: Vec<u32> = (0..members.len()).filter(|at| is_first(*at)).map(|at| members[at]).collect();
        // As MPI libraries do it: hosts matter where some have several ranks, and there are several hosts.
        let matters = leaders.len() > 1 && leaders.len() < members.len() && members.contains(&me);
        let by_host = matters.then(|| ByHost {
            local: Group::list(local),
            leaders: Group::list(leaders),
            hosts: hosts.clone(),
            me,
        });
        let context = context & ((1 << CONTEXT_BITS) - 1);
        Communicator { group: Group::list(members.to_vec()), by_host, context, collectives: 0 }
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

/// All that a rank knows.
pub struct Communicators {
    me: u32,
    hosts: Rc<Vec<u32>>,
    known: BTreeMap<u32, Communicator>,
}

impl Communicators {
    /// None, for a rank; `hosts`: where each rank of all is.
    pub fn new(me: u32, hosts: &Rc<Vec<u32>>) -> Communicators {
        Communicators { me, hosts: hosts.clone(), known: BTreeMap::new() }
    }

    /// One becomes known, or another one with its number.
    pub fn define(&mut self, number: u32, context: u64, members: &[u32]) {
        self.known.insert(number, Communicator::new(members, context, self.me, &self.hosts));
    }

    /// One that was defined; an empty one otherwise.
    pub fn get(&mut self, number: u32) -> &mut Communicator {
        let (me, hosts) = (self.me, &self.hosts);
        self.known.entry(number).or_insert_with(|| Communicator::new(&[], 0, me, hosts))
    }
}
