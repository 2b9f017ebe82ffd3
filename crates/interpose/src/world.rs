//! This process's part in the program, from MPI_Init to MPI_Finalize.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use fishplate_collectives::{ClusterMap, Place, Rank};

use crate::communicator::{Spanning, lock};
use crate::ffi::{Abi, Attribute, Comm, Result};
use crate::geography::{self, Geography};
use crate::preference::Preference;
use crate::settings::Settings;
use crate::usage;

/// What there is while schedules are in use.
pub struct World {
    /// The MPI's interface.
    pub abi: &'static Abi,
    geography: Geography,
    settings: Settings,
    attribute: Attribute<Judgement>,
    /// All that were made, to tell how they were used.
    made: Mutex<Vec<Weak<Spanning>>>,
}

/// What is kept with a communicator of the program.
pub enum Judgement {
    /// It is left to the MPI.
    Native,
    /// Schedules serve it.
    Spanning(Arc<Spanning>),
}

/// Whether there is a `WORLD`, for a look without the lock.
static AWAKE: AtomicBool = AtomicBool::new(false);
static WORLD: RwLock<Option<Arc<World>>> = RwLock::new(None);

/// Communicators of ours whose program's communicator is gone. MPI tells of that in a call that must not free others.
static GRAVES: Mutex<Vec<Comm>> = Mutex::new(Vec::new());

/// Whether schedules are in use.
pub fn is_awake() -> bool {
    AWAKE.load(Ordering::Acquire)
}

/// What there is, if schedules are in use.
pub fn get() -> Option<Arc<World>> {
    if !is_awake() {
        return None;
    }
    WORLD.read().ok()?.clone()
}

/// After MPI_Init: finds out where everybody is. Stays asleep when that is in one place.
pub fn wake() {
    let Some(abi) = Abi::get() else { return };
    let lookup = |name: &'static str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let settings = match Settings::from_lookup(lookup) {
        Ok(settings) => settings,
        Err(error) => {
            crate::tell::tell(error);
            return Comm::world(abi).abort();
        }
    };
    if settings.preference == Preference::Native {
        return;
    }
    match World::explore(abi, settings) {
        Ok(Some(world)) => {
            if let Ok(mut place) = WORLD.write() {
                *place = Some(Arc::new(world));
                AWAKE.store(true, Ordering::Release);
            }
        }
        Ok(None) => {}
        Err(error) => {
            Comm::world(abi).raise(error);
        }
    }
}

/// Before MPI_Finalize: frees what there is, and tells how it was used.
pub fn sleep() {
    let Some(world) = get() else { return };
    AWAKE.store(false, Ordering::Release);
    lock(&world.made).iter().filter_map(Weak::upgrade).for_each(|spanning| spanning.tell_usage());
    if let Some(file) = &world.settings.log {
        usage::write(file);
    }
    world.attribute.remove(Comm::world(world.abi));
    bury();
    if let Ok(mut place) = WORLD.write() {
        *place = None;
    }
}

/// Frees communicators whose time has come.
pub fn bury() {
    let graves = std::mem::take(&mut *lock(&GRAVES));
    graves.into_iter().for_each(Comm::free);
}

/// Hands over communicators to free, when MPI can be called again.
pub fn give_up(comms: [Comm; 2]) {
    lock(&GRAVES).extend(comms);
}

impl World {
    fn explore(abi: &'static Abi, settings: Settings) -> Result<Option<World>> {
        let Some((comm, geography, names)) = geography::explore(abi, settings.clusters.as_ref())? else {
            return Ok(None);
        };
        if let Some(file) = settings.log.as_ref().filter(|_| !names.is_empty()) {
            usage::append(file, &geography.line(&names));
        }
        let attribute = Attribute::new()?;
        let made = Mutex::default();
        let world = World { abi, geography, settings, attribute, made };
        let places = world.geography.places.clone();
        world.adopt(Comm::world(abi), comm, &places)?;
        Ok(Some(world))
    }

    /// What serves a communicator of the program. One that was not looked at yet is, if all its ranks are in this call
    /// together and may wait for each other (`together`).
    pub fn judge(&self, comm: Comm, together: bool) -> Option<Arc<Spanning>> {
        if let Some(known) = self.attribute.get(comm) {
            return match &*known {
                Judgement::Native => None,
                Judgement::Spanning(spanning) => Some(spanning.clone()),
            };
        }
        match self.look_at(comm, together) {
            Ok(spanning) => spanning,
            Err(error) => {
                comm.raise(error);
                None
            }
        }
    }

    fn look_at(&self, comm: Comm, together: bool) -> Result<Option<Arc<Spanning>>> {
        let places = if comm.is_inter()? { None } else { self.places(comm)? };
        let spans = |places: &Vec<Place>| places.iter().any(|place| place.cluster != places[0].cluster);
        match places.filter(spans) {
            None => self.attribute.set(comm, Arc::new(Judgement::Native)).map(|()| None),
            Some(_) if !together => Ok(None),
            Some(places) => self.adopt(comm, comm.twin(self.abi)?, &places).map(Some),
        }
    }

    /// Where the ranks of a communicator are; nothing when some are not in MPI_COMM_WORLD.
    fn places(&self, comm: Comm) -> Result<Option<Vec<Place>>> {
        let ranks = comm.ranks_in(self.abi, Comm::world(self.abi))?;
        Ok(ranks.into_iter().map(|rank| rank.map(|rank| self.geography.places[rank])).collect())
    }

    /// Makes what serves a communicator. All its ranks call this.
    fn adopt(&self, comm: Comm, twin: Comm, places: &[Place]) -> Result<Arc<Spanning>> {
        let map = ClusterMap::new(places);
        let rank = Rank(comm.rank()?);
        let own = map.cluster_of(rank);
        let cluster = twin.split(self.abi, own.0, rank.0)?;
        let clusters: Vec<u64> = map.clusters().map(|cluster| places[map.coordinator(cluster).0].cluster).collect();
        let network = self.geography.network(&clusters).for_library(self.abi.library());
        let spanning = Arc::new(Spanning::new(twin, cluster, map, rank, network, self.settings.preference));
        let mut made = lock(&self.made);
        made.retain(|other| other.strong_count() > 0);
        made.push(Arc::downgrade(&spanning));
        self.attribute.set(comm, Arc::new(Judgement::Spanning(spanning.clone())))?;
        Ok(spanning)
    }
}
