//! Communicators that the program uses.

use std::collections::VecDeque;
use std::sync::Arc;

use fishplate_profile::rank_file::{communicator, header};
use rustc_hash::FxHashMap;

use super::message_numbers::hash;
use super::tables::Tables;
use crate::ffi::{Abi, Comm};

/// Places of freed communicators that are not used again yet: operations on them may still be under way.
const RESTING: usize = 256;

/// A communicator.
#[derive(Clone)]
pub struct Communicator {
    /// The same on all its ranks.
    pub id: u64,
    /// Whether it is between two groups, so that the two sides call it differently.
    pub is_inter: bool,
    /// Number of ranks that messages go to.
    pub ranks: usize,
    /// This process's rank in it.
    pub own: usize,
    /// The same in MPI_COMM_WORLD.
    pub own_in_world: Option<usize>,
    /// Number of ranks of this process's group.
    pub local: usize,
    /// Where its row in the file begins.
    row: usize,
    /// The ranks in MPI_COMM_WORLD of its ranks; nothing: the same.
    world: Option<Box<[Option<usize>]>>,
    /// Neighbours that send, and that are sent to, once they were asked for.
    neighbors: Option<Arc<Neighbors>>,
    /// Collective operations so far.
    collectives: u64,
    /// Communicators that all its ranks have made from it so far.
    children: u64,
}

/// Neighbours that send to this process, and those that it sends to: ranks; negative ones are nobody.
pub type Neighbors = [Vec<i32>; 2];

/// How a communicator was made: what its ranks know of it alike.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// By all ranks of the one at this place.
    Parent(usize),
    /// By its ranks alone, who gave it this number.
    Group(u64),
    /// Elsewhere: it was seen when it was first used.
    Unknown,
}

/// All of them.
pub struct Communicators {
    abi: &'static Abi,
    tables: Tables,
    known: Vec<Communicator>,
    /// Places of those that were freed, the oldest first.
    free: VecDeque<usize>,
    /// Rows of the file that are used.
    rows: usize,
    by_key: FxHashMap<usize, usize>,
    /// How many of each group there have been.
    groups: FxHashMap<u64, u64>,
    is_paused: bool,
}

/// A communicator that is being freed.
pub struct Freed {
    comm: Comm,
    place: usize,
}

impl Communicator {
    /// The rank in MPI_COMM_WORLD of a rank in this communicator.
    pub fn in_world(&self, rank: i32) -> Option<usize> {
        let rank = usize::try_from(rank).ok().filter(|rank| *rank < self.ranks)?;
        self.world.as_ref().map_or(Some(rank), |world| world.get(rank).copied().flatten())
    }

    /// Whether some of its ranks are not in the world.
    pub fn has_foreign(&self) -> bool {
        self.world.as_ref().is_some_and(|world| world.contains(&None))
    }

    /// The number of the next collective operation.
    pub fn next_collective(&mut self) -> u64 {
        self.collectives += 1;
        self.collectives
    }
}

impl Communicators {
    /// None yet.
    pub fn new(abi: &'static Abi, tables: Tables) -> Communicators {
        Communicators {
            abi,
            tables,
            known: Vec::new(),
            free: VecDeque::new(),
            rows: 0,
            by_key: FxHashMap::default(),
            groups: FxHashMap::default(),
            is_paused: false,
        }
    }

    /// Counts nothing for a while, or counts again.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// The place of one, which is added if it is not known.
    pub fn place(&mut self, comm: Comm) -> usize {
        match self.by_key.get(&comm.key()) {
            Some(place) => *place,
            None => self.add(comm, Origin::Unknown),
        }
    }

    /// One was made: whatever had its handle before is no more, also where nobody has seen it go.
    pub fn made(&mut self, comm: Comm, origin: Origin) -> usize {
        self.forget(comm);
        self.add(comm, origin)
    }

    /// One is being made that has the ranks of another one, and must not be used before that is done.
    pub fn copied(&mut self, comm: Comm, parent: usize) -> usize {
        self.forget(comm);
        let id = self.id_of_child(parent, 0);
        let known = Communicator { id, collectives: 0, children: 0, ..self.known[parent].clone() };
        self.insert(comm, known)
    }

    /// The ranks of a window that those of a communicator have made, which lasts as long as the window.
    pub fn of_window(&mut self, parent: usize) -> usize {
        let id = self.id_of_child(parent, 0);
        let known = Communicator { id, collectives: 0, children: 0, ..self.known[parent].clone() };
        self.put(known)
    }

    /// A window is freed.
    pub fn forget_window(&mut self, place: usize) {
        self.free.push_back(place);
    }

    /// The ranks of one have made another one, of which this process is no part.
    pub fn made_without(&mut self, parent: usize) {
        self.known[parent].children += 1;
    }

    /// By its place.
    pub fn at(&mut self, place: usize) -> &mut Communicator {
        &mut self.known[place]
    }

    /// Its neighbours in a communicator.
    pub fn neighbors(&mut self, comm: Comm) -> Arc<Neighbors> {
        let place = self.place(comm);
        let find = || Arc::new(comm.neighbor_ranks(self.abi).unwrap_or_default());
        self.known[place].neighbors.get_or_insert_with(find).clone()
    }

    /// Adds a call to its row in the file.
    pub fn count(&self, place: usize, time: u64) {
        if self.is_paused {
            return;
        }
        let row = self.known[place].row;
        self.tables.add(row + communicator::CALLS, 1);
        self.tables.add(row + communicator::TIME, time);
    }

    /// Adds bytes to its row.
    pub fn count_bytes(&self, place: usize, sent: u64, received: u64) {
        if self.is_paused {
            return;
        }
        let row = self.known[place].row;
        self.tables.add(row + communicator::SENT, sent);
        self.tables.add(row + communicator::RECEIVED, received);
    }

    /// One gets a name.
    pub fn name(&mut self, comm: Comm) {
        let place = self.place(comm);
        self.note_name(place, comm);
    }

    /// Before one is freed. MPI may free it in the middle of that call, and others, and give out their handles again.
    pub fn forget(&mut self, comm: Comm) -> Option<Freed> {
        let place = self.by_key.remove(&comm.key())?;
        self.free.push_back(place);
        Some(Freed { comm, place })
    }

    /// It was not freed.
    pub fn keep(&mut self, Freed { comm, place }: Freed) {
        if let Some(at) = self.free.iter().position(|free| *free == place) {
            self.free.remove(at);
            self.by_key.insert(comm.key(), place);
        }
    }

    fn note_name(&self, place: usize, comm: Comm) {
        if let Some(name) = comm.name().ok().filter(|name| !name.is_empty()) {
            let row = self.known[place].row;
            let range = row + communicator::NAME.start..row + communicator::NAME.end;
            fishplate_profile::store_text(&self.tables.words[range], &name);
        }
    }

    fn add(&mut self, comm: Comm, origin: Origin) -> usize {
        let ranks = comm.remote_ranks_in_world(self.abi).unwrap_or_default();
        let own = comm.rank().unwrap_or(0);
        let same = ranks.iter().enumerate().all(|(rank, in_world)| *in_world == Some(rank));
        let is_inter = comm.is_inter().unwrap_or(false);
        let size = comm.size().unwrap_or(0);
        // The ranks of both groups of an intercommunicator see different ranks, and give them different numbers.
        let local = if is_inter { comm.ranks_in_world(self.abi).unwrap_or_default() } else { Vec::new() };
        let own_in_world = if is_inter { &local } else { &ranks }.get(own).copied().flatten();
        let members =
            if is_inter { hash((local.clone().min(ranks.clone()), local.max(ranks.clone()))) } else { hash(&ranks) };
        let id = match origin {
            Origin::Parent(parent) => self.id_of_child(parent, members),
            Origin::Group(number) => self.id_of_group(hash((members, number))),
            Origin::Unknown => self.id_of_group(members),
        };
        let known = Communicator {
            id,
            is_inter,
            ranks: ranks.len(),
            own,
            own_in_world,
            local: size,
            row: 0,
            world: (!same).then(|| ranks.into_boxed_slice()),
            neighbors: None,
            collectives: 0,
            children: 0,
        };
        let place = self.insert(comm, known);
        self.note_name(place, comm);
        place
    }

    /// The ranks of a communicator make others in one order.
    fn id_of_child(&mut self, parent: usize, members: u64) -> u64 {
        let parent = &mut self.known[parent];
        parent.children += 1;
        hash((parent.id, parent.children, members)).max(1)
    }

    fn id_of_group(&mut self, group: u64) -> u64 {
        let before = self.groups.entry(group).or_default();
        *before += 1;
        hash((group, *before)).max(1)
    }

    fn insert(&mut self, comm: Comm, known: Communicator) -> usize {
        let row = self.next_row();
        self.tables.set(row + communicator::ID, known.id);
        self.tables.set(row + communicator::RANKS, known.ranks as u64);
        let known = Communicator { row, ..known };
        let place = self.put(known);
        self.by_key.insert(comm.key(), place);
        place
    }

    fn put(&mut self, known: Communicator) -> usize {
        if self.free.len() > RESTING
            && let Some(place) = self.free.pop_front()
        {
            self.known[place] = known;
            return place;
        }
        self.known.push(known);
        self.known.len() - 1
    }

    fn next_row(&mut self) -> usize {
        let row = self.rows.min(communicator::CAPACITY - 1);
        if self.rows > row {
            self.tables.add(header::LOST_COMMUNICATORS, 1);
        }
        self.rows += 1;
        self.tables.layout.communicators + row * communicator::COLUMNS
    }
}
