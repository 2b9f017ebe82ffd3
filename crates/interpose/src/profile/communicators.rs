//! Communicators that the program uses.

use fishplate_profile::rank_file::{communicator, header};
use rustc_hash::FxHashMap;

use super::message_numbers::hash;
use super::tables::Tables;
use crate::ffi::{Abi, Comm};

/// A communicator.
pub struct Communicator {
    /// The same on all its ranks.
    pub id: u64,
    /// Whether it is between two groups, so that the two sides call it differently.
    pub is_inter: bool,
    /// Number of ranks that messages go to.
    pub ranks: usize,
    /// This process's rank in it.
    pub own: usize,
    /// Where its row in the file begins.
    row: usize,
    /// The ranks in MPI_COMM_WORLD of its ranks; nothing: the same.
    world: Option<Box<[Option<usize>]>>,
    /// Neighbours that send, and that are sent to, once they were asked for.
    neighbors: Option<(usize, usize)>,
    /// Collective operations so far.
    collectives: u64,
}

/// All of them.
pub struct Communicators {
    abi: &'static Abi,
    tables: Tables,
    known: Vec<Communicator>,
    /// Places of those that were freed.
    free: Vec<usize>,
    /// Rows of the file that are used.
    rows: usize,
    by_key: FxHashMap<usize, usize>,
    /// How many of each group there have been.
    groups: FxHashMap<u64, u64>,
}

impl Communicator {
    /// The rank in MPI_COMM_WORLD of a rank in this communicator.
    pub fn in_world(&self, rank: i32) -> Option<usize> {
        let rank = usize::try_from(rank).ok().filter(|rank| *rank < self.ranks)?;
        self.world.as_ref().map_or(Some(rank), |world| world.get(rank).copied().flatten())
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
            free: Vec::new(),
            rows: 0,
            by_key: FxHashMap::default(),
            groups: FxHashMap::default(),
        }
    }

    /// The place of one, which is added if it is not known. All ranks of a communicator must come here in the same order
    /// with those that have the same ranks, as they do where they are made.
    pub fn place(&mut self, comm: Comm) -> usize {
        match self.by_key.get(&comm.key()) {
            Some(place) => *place,
            None => self.add(comm),
        }
    }

    /// By its place.
    pub fn at(&mut self, place: usize) -> &mut Communicator {
        &mut self.known[place]
    }

    /// How many neighbours send to this process, and how many it sends to.
    pub fn neighbors(&mut self, comm: Comm) -> (usize, usize) {
        let place = self.place(comm);
        let abi = self.abi;
        *self.known[place].neighbors.get_or_insert_with(|| comm.neighbors(abi).unwrap_or_default())
    }

    /// Adds a call to its row in the file.
    pub fn count(&self, place: usize, time: u64) {
        let row = self.known[place].row;
        self.tables.add(row + communicator::CALLS, 1);
        self.tables.add(row + communicator::TIME, time);
    }

    /// Adds bytes to its row.
    pub fn count_bytes(&self, place: usize, sent: u64, received: u64) {
        let row = self.known[place].row;
        self.tables.add(row + communicator::SENT, sent);
        self.tables.add(row + communicator::RECEIVED, received);
    }

    /// Notes the names that communicators have by now.
    pub fn name_all(&self) {
        // Those that are known by a handle are not freed.
        for (key, place) in &self.by_key {
            if let Some(name) = Comm::from_key(*key).name().ok().filter(|name| !name.is_empty()) {
                self.set_name(*place, &name);
            }
        }
    }

    /// Before one is freed.
    pub fn forget(&mut self, comm: Comm) {
        let Some(place) = self.by_key.remove(&comm.key()) else { return };
        if let Some(name) = comm.name().ok().filter(|name| !name.is_empty()) {
            self.set_name(place, &name);
        }
        self.free.push(place);
    }

    fn set_name(&self, place: usize, name: &str) {
        let row = self.known[place].row;
        let range = row + communicator::NAME.start..row + communicator::NAME.end;
        fishplate_profile::store_text(&self.tables.words[range], name);
    }

    fn add(&mut self, comm: Comm) -> usize {
        let world = Comm::world(self.abi);
        let ranks = comm.remote_ranks_in(self.abi, world).unwrap_or_default();
        let own = comm.rank().unwrap_or(0);
        let same = comm == world || ranks.iter().enumerate().all(|(rank, in_world)| *in_world == Some(rank));
        // Ranks of both groups of an intercommunicator see different ranks, and give it different numbers: no events.
        let is_inter = comm.is_inter().unwrap_or(false);
        let group = hash((&ranks, is_inter));
        let before = self.groups.entry(group).or_default();
        let id = hash((group, *before)).max(1);
        *before += 1;
        let row = self.next_row();
        self.tables.set(row + communicator::ID, id);
        self.tables.set(row + communicator::RANKS, ranks.len() as u64);
        let (neighbors, collectives) = (None, 0);
        let known = Communicator {
            id,
            is_inter,
            ranks: ranks.len(),
            own,
            row,
            world: (!same).then(|| ranks.into_boxed_slice()),
            neighbors,
            collectives,
        };
        let place = self.free.pop().unwrap_or(self.known.len());
        if place == self.known.len() {
            self.known.push(known);
        } else {
            self.known[place] = known;
        }
        self.by_key.insert(comm.key(), place);
        if let Some(name) = comm.name().ok().filter(|name| !name.is_empty()) {
            self.set_name(place, &name);
        }
        place
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
