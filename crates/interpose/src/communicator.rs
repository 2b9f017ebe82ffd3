//! What belongs to a communicator of the program that spans clusters.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fishplate_collectives::{Algorithm, ClusterMap, Network, Operation, Rank, Schedule, choose, schedule};

use crate::ffi::Comm;
use crate::preference::Preference;
use crate::usage::{self, Usage};
use crate::world;

/// Operations on one communicator that can be under way at once; later ones start when earlier ones are done. With the
/// tags of a schedule that fits in the tags that MPI guarantees (32767).
const WINDOW: u64 = 256;

/// So many blocking calls that are left to the MPI, after one that started a schedule and returned at once, let schedules
/// get on: by the MPI's non-blocking form, which is slower (measured, three hosts 1 ms apart: a broadcast of 16 KiB takes
/// 1.1 times as long). Later ones first finish what is under way.
const MOST_BESIDE: u32 = 8;

/// Most plans that are kept: an application has a few operations of a few sizes.
const MOST_PLANS: usize = 256;

/// A communicator that spans clusters.
pub struct Spanning {
    /// Its ranks, for the messages of schedules.
    pub all: Comm,
    /// The ranks of this process's cluster.
    pub cluster: Comm,
    /// Who is where.
    pub map: ClusterMap,
    rank: Rank,
    network: Network,
    preference: Preference,
    turns: Mutex<Turns>,
    plans: Mutex<HashMap<(Operation, usize, bool), Plan>>,
    usage: Mutex<Usage>,
    /// Blocking calls for the MPI until those that the program started at once are taken for over: known to all ranks, as
    /// calls have an order.
    beside: AtomicU32,
}

/// How an operation is carried out.
#[derive(Clone)]
struct Plan {
    algorithm: Algorithm,
    /// Nothing when it is the MPI's.
    schedule: Option<Arc<Schedule>>,
}

/// Who may do what when, among the operations on one communicator.
#[derive(Default)]
struct Turns {
    /// The number of the next operation.
    next: u64,
    /// The operation that may start local steps: all ranks of a cluster must start these in the same order.
    local: u64,
    /// Operations that are not done.
    open: BTreeSet<u64>,
}

/// The place of an operation among those on its communicator.
pub struct Turn {
    number: u64,
    passed: bool,
}

impl Turn {
    /// Tells apart operations that are under way at once.
    pub fn window_slot(&self) -> i32 {
        (self.number % WINDOW) as i32
    }

    /// Whether the next operation may start local steps.
    pub fn is_passed(&self) -> bool {
        self.passed
    }
}

impl Spanning {
    /// With communicators of our own.
    pub fn new(
        all: Comm,
        cluster: Comm,
        map: ClusterMap,
        rank: Rank,
        network: Network,
        preference: Preference,
    ) -> Spanning {
        let usage = Mutex::new(Usage::of(&map));
        Spanning {
            all,
            cluster,
            map,
            rank,
            network,
            preference,
            turns: Mutex::default(),
            plans: Mutex::default(),
            usage,
            beside: AtomicU32::new(0),
        }
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// What this process does for an operation; nothing when it is the MPI's. All ranks decide the same.
    pub fn schedule(&self, operation: Operation, element_bytes: usize, in_place: bool) -> Option<Arc<Schedule>> {
        let name = operation.name();
        let key = (operation, element_bytes, in_place);
        let mut plans = lock(&self.plans);
        let plan = match plans.get(&key) {
            Some(known) => known.clone(),
            None => {
                let plan = self.plan(&key.0, element_bytes, in_place);
                if plans.len() >= MOST_PLANS {
                    plans.clear();
                }
                plans.insert(key, plan.clone());
                plan
            }
        };
        lock(&self.usage).count(name, plan.algorithm);
        plan.schedule
    }

    /// A schedule is started by a call that returns at once.
    pub fn has_nonblocking(&self) {
        self.beside.store(MOST_BESIDE, Ordering::Relaxed);
    }

    /// Whether a blocking call that is left to the MPI, which this is, must let schedules get on meanwhile.
    pub fn is_beside(&self) -> bool {
        self.beside.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn plan(&self, operation: &Operation, element_bytes: usize, in_place: bool) -> Plan {
        let choice = choose(operation, element_bytes, &self.map, &self.network);
        let algorithm = self.preference.algorithm(&choice);
        let schedule = schedule(operation, &self.map, algorithm, self.rank, in_place).map(Arc::new);
        let algorithm = if schedule.is_some() { algorithm } else { Algorithm::Native };
        Plan { algorithm, schedule }
    }

    /// Tells how often which algorithm was used: one rank for all, as all decide the same.
    pub fn tell_usage(&self) {
        if self.rank == Rank(0) {
            let nothing = Usage::of(&self.map);
            usage::tell(std::mem::replace(&mut *lock(&self.usage), nothing));
        }
    }

    /// The next operation's place.
    pub fn turn(&self) -> Turn {
        let mut turns = lock(&self.turns);
        let number = turns.next;
        turns.next += 1;
        turns.open.insert(number);
        Turn { number, passed: false }
    }

    /// Whether an operation is not too far ahead of the first that is not done.
    pub fn may_start(&self, turn: &Turn) -> bool {
        lock(&self.turns).open.first().is_none_or(|first| turn.number < first + WINDOW)
    }

    /// Whether an operation may start local steps.
    pub fn has_turn(&self, turn: &Turn) -> bool {
        lock(&self.turns).local == turn.number
    }

    /// An operation has no local steps to start any more.
    pub fn pass_turn(&self, turn: &mut Turn) {
        let mut turns = lock(&self.turns);
        if turns.local == turn.number {
            turns.local += 1;
            turn.passed = true;
        }
    }

    /// An operation is done.
    pub fn leave(&self, turn: &Turn) {
        lock(&self.turns).open.remove(&turn.number);
    }
}

impl Drop for Spanning {
    fn drop(&mut self) {
        self.tell_usage();
        world::give_up([self.cluster, self.all]);
    }
}

/// A lock; a panic ends the process, so nobody sees what one leaves behind.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
