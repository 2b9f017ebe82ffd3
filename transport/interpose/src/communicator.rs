//! A communicator of the program that spans clusters: its schedules, and the communicators that the schedules use.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use fishplate_collectives::{Algorithm, ClusterMap, Network, Operation, Rank, Schedule, choose, schedule};

use crate::call_statistics::{self, CallStatistics};
use crate::ffi::Comm;
use crate::operation_order::OperationOrder;
use crate::settings::Preference;
use crate::sync::lock;

/// Number of native blocking calls after a non-blocking schedule started that let schedules make progress meanwhile: they use
/// the MPI's non-blocking form, which is slower (measured, three hosts 1 ms apart: a broadcast of 16 KiB takes 1.1 times as
/// long). Later blocking calls first complete the operations in flight.
const PROGRESSING_CALLS: u32 = 8;

/// Capacity of the cache of plans: an application uses few operations of few sizes.
const MAX_PLANS: usize = 256;

pub struct SpanningComm {
    /// Duplicate of the program's communicator, for the messages of schedules.
    pub all: Comm,
    /// The ranks of this process's cluster.
    pub cluster: Comm,
    /// Cluster of each rank.
    pub map: ClusterMap,
    rank: Rank,
    network: Network,
    preference: Preference,
    pub order: OperationOrder,
    plans: Mutex<HashMap<(Operation, usize, bool), Plan>>,
    statistics: Mutex<CallStatistics>,
    /// Number of further native blocking calls that let schedules make progress. Equal on all ranks, as all ranks make collective
    /// calls in one order.
    progressing_calls: AtomicU32,
}

/// How an operation is carried out.
#[derive(Clone)]
struct Plan {
    algorithm: Algorithm,
    /// `None` if the native algorithm is used.
    schedule: Option<Arc<Schedule>>,
}

impl SpanningComm {
    /// Creates the communicators of the schedules.
    pub fn new(
        all: Comm,
        cluster: Comm,
        map: ClusterMap,
        rank: Rank,
        network: Network,
        preference: Preference,
    ) -> SpanningComm {
        let statistics = Mutex::new(CallStatistics::of(&map));
        SpanningComm {
            all,
            cluster,
            map,
            rank,
            network,
            preference,
            order: OperationOrder::default(),
            plans: Mutex::default(),
            statistics,
            progressing_calls: AtomicU32::new(0),
        }
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// This process's schedule for an operation; `None` for the native algorithm. The decision is equal on all ranks.
    pub fn schedule(&self, operation: Operation, element_bytes: usize, in_place: bool) -> Option<Arc<Schedule>> {
        let name = operation.name();
        let key = (operation, element_bytes, in_place);
        let mut plans = lock(&self.plans);
        let plan = match plans.get(&key) {
            Some(known) => known.clone(),
            None => {
                let plan = self.plan(&key.0, element_bytes, in_place);
                if plans.len() >= MAX_PLANS {
                    plans.clear();
                }
                plans.insert(key, plan.clone());
                plan
            }
        };
        lock(&self.statistics).count(name, plan.algorithm);
        plan.schedule
    }

    /// Notes that a non-blocking call started a schedule.
    pub fn note_nonblocking(&self) {
        self.progressing_calls.store(PROGRESSING_CALLS, Ordering::Relaxed);
    }

    /// Counts a native blocking call. Returns whether it must let schedules make progress meanwhile.
    pub fn must_progress(&self) -> bool {
        self.progressing_calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn plan(&self, operation: &Operation, element_bytes: usize, in_place: bool) -> Plan {
        let choice = choose(operation, element_bytes, &self.map, &self.network);
        let algorithm = self.preference.algorithm(&choice);
        let schedule = schedule(operation, &self.map, algorithm, self.rank, in_place).map(Arc::new);
        let algorithm = if schedule.is_some() { algorithm } else { Algorithm::Native };
        Plan { algorithm, schedule }
    }

    /// Reports how often each algorithm was used. Only rank 0 reports, as the decisions are equal on all ranks.
    pub fn report_statistics(&self) {
        if self.rank == Rank(0) {
            let nothing = CallStatistics::of(&self.map);
            call_statistics::add(std::mem::replace(&mut *lock(&self.statistics), nothing));
        }
    }
}

impl Drop for SpanningComm {
    fn drop(&mut self) {
        self.report_statistics();
        lock(&DEFERRED).extend([self.cluster, self.all]);
    }
}

/// Communicators to be freed. MPI reports the freeing of the program's communicator by a callback of its attribute, which must
/// not free other communicators: they are freed in the program's next call that frees a communicator.
static DEFERRED: Mutex<Vec<Comm>> = Mutex::new(Vec::new());

/// Frees the communicators of schedules whose own communicator was freed. Collective: all ranks must call it.
pub fn free_deferred() {
    let comms = std::mem::take(&mut *lock(&DEFERRED));
    comms.into_iter().for_each(Comm::free);
}
