//! Tracks the communicators of the program.

use std::collections::VecDeque;
use std::sync::Arc;

use fishplate_profile::rank_file::{communicator, header};
use rustc_hash::FxHashMap;

use super::message_numbers::hash;
use super::tables::Tables;
use crate::ffi::{Abi, Comm};

/// Freed entries are reused only while there are more than this number: operations on a freed communicator may still be
/// active.
const MIN_FREE: usize = 256;

#[derive(Clone)]
pub struct Communicator {
    /// Identifier, equal on all its ranks.
    pub id: u64,
    /// Whether it is an intercommunicator, whose two groups have different identifiers for it.
    pub is_inter: bool,
    /// Number of ranks that messages are sent to: of the remote group for an intercommunicator.
    pub ranks: usize,
    /// This process's rank in it.
    pub own: usize,
    /// This process's rank in MPI_COMM_WORLD.
    pub own_in_world: Option<usize>,
    /// Number of ranks of the local group.
    pub local: usize,
    /// Offset of its row in the file.
    row: usize,
    /// Its ranks, translated to MPI_COMM_WORLD; `None` if all are equal.
    world: Option<Box<[Option<usize>]>>,
    /// Its neighbours, once queried.
    neighbors: Option<Arc<Neighbors>>,
    /// Number of collective operations so far.
    collectives: u64,
    /// Number of communicators created from it so far by all its ranks.
    children: u64,
}

/// Ranks of neighbours that send to this process, and of those that it sends to; negative ranks mean no process.
pub type Neighbors = [Vec<i32>; 2];

/// How a communicator was created, as far as all its ranks know.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// By all ranks of the communicator with this index.
    Parent(usize),
    /// By its own ranks alone, with this tag.
    Group(u64),
    /// Unknown: it was discovered at its first use.
    Unknown,
}

pub struct Communicators {
    abi: &'static Abi,
    tables: Tables,
    known: Vec<Communicator>,
    /// Indexes of freed entries, the oldest first.
    free: VecDeque<usize>,
    /// Number of used rows of the file.
    rows: usize,
    by_key: FxHashMap<usize, usize>,
    /// Number of communicators created from each group.
    groups: FxHashMap<u64, u64>,
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

    /// Whether some of its ranks are not in MPI_COMM_WORLD.
    pub fn has_foreign(&self) -> bool {
        self.world.as_ref().is_some_and(|world| world.contains(&None))
    }

    pub fn next_collective(&mut self) -> u64 {
        self.collectives += 1;
        self.collectives
    }
}

impl Communicators {
    pub fn new(abi: &'static Abi, tables: Tables) -> Communicators {
        Communicators {
            abi,
            tables,
            known: Vec::new(),
            free: VecDeque::new(),
            rows: 0,
            by_key: FxHashMap::default(),
            groups: FxHashMap::default(),
        }
    }

    /// Index of a communicator. Adds an unknown one.
    pub fn place(&mut self, comm: Comm) -> usize {
        match self.by_key.get(&comm.key()) {
            Some(place) => *place,
            None => self.add(comm, Origin::Unknown),
        }
    }

    /// Adds a created communicator. An earlier one with its handle must have been freed, even if this was not observed.
    pub fn made(&mut self, comm: Comm, origin: Origin) -> usize {
        self.forget(comm);
        self.add(comm, origin)
    }

    /// Adds a communicator being created by MPI_Comm_idup, with the ranks of its parent; not used before that completes.
    pub fn copied(&mut self, comm: Comm, parent: usize) -> usize {
        self.forget(comm);
        let known = self.copy_of(parent);
        self.insert(comm, known)
    }

    /// Adds a communicator for the ranks of a window, valid until the window is freed.
    pub fn of_window(&mut self, parent: usize) -> usize {
        let known = self.copy_of(parent);
        self.put(known)
    }

    pub fn forget_window(&mut self, place: usize) {
        self.free.push_back(place);
    }

    /// Notes that the ranks of `parent` created a communicator without this process.
    pub fn made_without(&mut self, parent: usize) {
        self.known[parent].children += 1;
    }

    pub fn at(&mut self, place: usize) -> &mut Communicator {
        &mut self.known[place]
    }

    pub fn neighbors(&mut self, comm: Comm) -> Arc<Neighbors> {
        let place = self.place(comm);
        let find = || Arc::new(comm.neighbors(self.abi).unwrap_or_default());
        self.known[place].neighbors.get_or_insert_with(find).clone()
    }

    /// Adds a call to its row in `tables`.
    pub fn count(&self, tables: &Tables, place: usize, time: u64) {
        let row = self.known[place].row;
        tables.add(row + communicator::CALLS, 1);
        tables.add(row + communicator::TIME, time);
    }

    /// Adds bytes to its row in `tables`.
    pub fn count_bytes(&self, tables: &Tables, place: usize, sent: u64, received: u64) {
        let row = self.known[place].row;
        tables.add(row + communicator::SENT, sent);
        tables.add(row + communicator::RECEIVED, received);
    }

    /// Records the name of a communicator.
    pub fn name(&mut self, comm: Comm) {
        let place = self.place(comm);
        self.note_name(place, comm);
    }

    /// Removes a communicator before it is freed, as MPI may free it, and reuse its handle, before the call returns.
    pub fn forget(&mut self, comm: Comm) -> Option<Freed> {
        let place = self.by_key.remove(&comm.key())?;
        self.free.push_back(place);
        Some(Freed { comm, place })
    }

    /// Reinserts a communicator that was not freed.
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
        // The groups of an intercommunicator see different remote ranks, and compute different identifiers.
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

    fn copy_of(&mut self, parent: usize) -> Communicator {
        let id = self.id_of_child(parent, 0);
        Communicator { id, collectives: 0, children: 0, ..self.known[parent].clone() }
    }

    /// Identifier of a child: all ranks create the children of a communicator in one order.
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
        if self.free.len() > MIN_FREE
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
