//! The state of this library in a process, from MPI_Init to MPI_Finalize: the topology, and the communicators with schedules.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use fishplate_collectives::{ClusterMap, Place, Rank};

use crate::communicator::SpanningComm;
use crate::ffi::{Abi, Attribute, Comm, Result};
use crate::settings::{Preference, Settings};
use crate::sync::lock;
use crate::topology::{self, Topology};
use crate::{call_statistics, communicator};

/// The state while schedules are in use.
pub struct ProcessState {
    /// The MPI's interface.
    pub abi: &'static Abi,
    topology: Topology,
    settings: Settings,
    attribute: Attribute<CommKind>,
    /// All communicators with schedules, for their statistics.
    attached: Mutex<Vec<Weak<SpanningComm>>>,
}

/// Kind of a communicator of the program, stored as an attribute of it.
pub enum CommKind {
    /// Served by the MPI.
    Native,
    /// Served by schedules, as it spans clusters.
    Spanning(Arc<SpanningComm>),
}

/// Whether `STATE` is set; can be read without the lock.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
static STATE: RwLock<Option<Arc<ProcessState>>> = RwLock::new(None);

pub fn is_active() -> bool {
    IS_ACTIVE.load(Ordering::Acquire)
}

/// The state, if schedules are in use.
pub fn get() -> Option<Arc<ProcessState>> {
    if !is_active() {
        return None;
    }
    STATE.read().ok()?.clone()
}

/// To be called after MPI_Init: discovers the topology. Schedules are not used if all ranks are in one cluster.
pub fn start() {
    let Some(abi) = Abi::get() else { return };
    let lookup = |name: &'static str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let settings = match Settings::from_lookup(lookup) {
        Ok(settings) => settings,
        Err(error) => {
            fishplate_guest::report(error);
            return Comm::world(abi).abort();
        }
    };
    if settings.preference == Preference::Native {
        return;
    }
    match ProcessState::discover(abi, settings) {
        Ok(Some(state)) => {
            if let Ok(mut place) = STATE.write() {
                *place = Some(Arc::new(state));
                IS_ACTIVE.store(true, Ordering::Release);
            }
        }
        Ok(None) => {}
        Err(error) => {
            Comm::world(abi).raise(error);
        }
    }
}

/// To be called before MPI_Finalize: frees the state and writes the statistics.
pub fn stop() {
    let Some(state) = get() else { return };
    IS_ACTIVE.store(false, Ordering::Release);
    lock(&state.attached).iter().filter_map(Weak::upgrade).for_each(|spanning| spanning.report_statistics());
    if let Some(file) = &state.settings.log {
        call_statistics::write(file);
    }
    state.attribute.remove(Comm::world(state.abi));
    communicator::free_deferred();
    if let Ok(mut place) = STATE.write() {
        *place = None;
    }
}

impl ProcessState {
    fn discover(abi: &'static Abi, settings: Settings) -> Result<Option<ProcessState>> {
        let Some((comm, topology, names)) = topology::discover(abi, settings.clusters.as_ref())? else {
            return Ok(None);
        };
        if let Some(file) = settings.log.as_ref().filter(|_| !names.is_empty()) {
            call_statistics::append(file, &topology.to_json_line(&names));
        }
        let attribute = Attribute::new()?;
        let attached = Mutex::default();
        let state = ProcessState { abi, topology, settings, attribute, attached };
        let places = state.topology.places.clone();
        state.attach(Comm::world(abi), comm, &places)?;
        Ok(Some(state))
    }

    /// The communicator's schedules, if it has any. Classifies a new communicator if `is_collective`: if all its ranks make this
    /// call and may wait for each other.
    pub fn lookup(&self, comm: Comm, is_collective: bool) -> Option<Arc<SpanningComm>> {
        if let Some(known) = self.attribute.get(comm) {
            return match &*known {
                CommKind::Native => None,
                CommKind::Spanning(spanning) => Some(spanning.clone()),
            };
        }
        match self.classify(comm, is_collective) {
            Ok(spanning) => spanning,
            Err(error) => {
                comm.raise(error);
                None
            }
        }
    }

    fn classify(&self, comm: Comm, is_collective: bool) -> Result<Option<Arc<SpanningComm>>> {
        let places = if comm.is_inter()? { None } else { self.places(comm)? };
        let spans = |places: &Vec<Place>| places.iter().any(|place| place.cluster != places[0].cluster);
        match places.filter(spans) {
            None => self.attribute.set(comm, Arc::new(CommKind::Native)).map(|()| None),
            Some(_) if !is_collective => Ok(None),
            Some(places) => self.attach(comm, comm.twin(self.abi)?, &places).map(Some),
        }
    }

    /// Places of the ranks of a communicator; `None` if some are not in MPI_COMM_WORLD.
    fn places(&self, comm: Comm) -> Result<Option<Vec<Place>>> {
        let ranks = comm.ranks_in(self.abi, Comm::world(self.abi))?;
        Ok(ranks.into_iter().map(|rank| rank.map(|rank| self.topology.places[rank])).collect())
    }

    /// Attaches schedules to a communicator. Collective.
    fn attach(&self, comm: Comm, twin: Comm, places: &[Place]) -> Result<Arc<SpanningComm>> {
        let map = ClusterMap::new(places);
        let rank = Rank(comm.rank()?);
        let own = map.cluster_of(rank);
        let cluster = twin.split(self.abi, own.0, rank.0)?;
        let clusters: Vec<u64> = map.clusters().map(|cluster| places[map.coordinator(cluster).0].cluster).collect();
        let network = self.topology.network(&clusters).for_library(self.abi.library());
        let spanning = Arc::new(SpanningComm::new(twin, cluster, map, rank, network, self.settings.preference));
        let mut attached = lock(&self.attached);
        attached.retain(|other| other.strong_count() > 0);
        attached.push(Arc::downgrade(&spanning));
        self.attribute.set(comm, Arc::new(CommKind::Spanning(spanning.clone())))?;
        Ok(spanning)
    }
}
