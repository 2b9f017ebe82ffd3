//! Wrappers of MPI's objects, as far as schedules need them.
//!
//! Their functions are safe because handles and [`Memory`] cannot be created outside of `ffi`: they come from MPI, or from a
//! program that guarantees their validity by its call.

use std::ffi::c_int;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::abi::{Abi, UNDEFINED};
use super::functions::{self as mpi, Handle};
use super::memory::Memory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub c_int);

pub type Result<T> = std::result::Result<T, Error>;

/// Converts the result of an MPI function.
pub(super) fn check(code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error(code)) }
}

/// Calls MPI with a pointer to a handle, and returns the handle.
pub(super) fn new_handle(abi: &Abi, call: impl FnOnce(mpi::Slot) -> c_int) -> Result<Handle> {
    let mut place: Handle = 0;
    check(call(ptr::from_mut(&mut place).cast()))?;
    Ok(abi.clean(place))
}

/// Calls MPI with a pointer to an integer, and returns the integer.
fn number(call: impl FnOnce(mpi::Out) -> c_int) -> Result<c_int> {
    let mut number = 0;
    check(call(&mut number))?;
    Ok(number)
}

/// Positions in [`Abi::topologies`]; the third is a distributed graph.
const CART: usize = 0;
const GRAPH: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm(pub(super) Handle);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op(pub(super) Handle);

impl Comm {
    /// Identifies it in this process until it is freed.
    pub fn key(self) -> usize {
        self.0
    }

    /// The communicator of a handle.
    ///
    /// # Safety
    /// The handle is valid as long as the result is used for more than [`Comm::key`].
    pub unsafe fn from_handle(handle: Handle) -> Comm {
        Comm(handle)
    }

    pub fn world(abi: &Abi) -> Comm {
        Comm(abi.comm_world)
    }

    /// Uses the process set `mpi://WORLD` of a session as the world, as there may be no MPI_COMM_WORLD. Returns this process's
    /// rank in it and its size.
    pub fn world_of_session(abi: &Abi, session: usize) -> Result<(usize, usize)> {
        let name = c"mpi://WORLD".as_ptr().cast_mut().cast();
        // SAFETY: a session just created by MPI, a string, and a pointer to a handle.
        let group = new_handle(abi, |place| unsafe { mpi::Group_from_session_pset(session, name, place) })?;
        // SAFETY: a valid group, and a pointer to a number.
        let rank = number(|rank| unsafe { mpi::Group_rank(group, rank) })?;
        // SAFETY: as above.
        let size = number(|size| unsafe { mpi::Group_size(group, size) })?;
        WORLD.get_or_init(|| Group(group));
        IS_OF_SESSION.store(true, Ordering::Relaxed);
        Ok((rank as usize, size as usize))
    }

    /// Whether the world is a process set of a session.
    pub fn is_world_of_sessions() -> bool {
        IS_OF_SESSION.load(Ordering::Relaxed)
    }

    /// Whether MPI_COMM_WORLD was started by MPI_Comm_spawn.
    pub fn has_parent(abi: &Abi) -> bool {
        if Comm::is_world_of_sessions() {
            return false;
        }
        // SAFETY: a place for a handle.
        let parent = new_handle(abi, |place| unsafe { mpi::Comm_get_parent(place) });
        parent.is_ok_and(|parent| parent != abi.comm_null)
    }

    pub fn rank(self) -> Result<usize> {
        // SAFETY: a valid communicator and a place for a number.
        Ok(number(|rank| unsafe { mpi::Comm_rank(self.0, rank) })? as usize)
    }

    pub fn size(self) -> Result<usize> {
        // SAFETY: as above.
        Ok(number(|size| unsafe { mpi::Comm_size(self.0, size) })? as usize)
    }

    /// Number of ranks that messages are sent to: for an intercommunicator, of the remote group.
    pub fn remote_size(self) -> Result<usize> {
        if !self.is_inter()? {
            return self.size();
        }
        // SAFETY: as above.
        Ok(number(|size| unsafe { mpi::Comm_remote_size(self.0, size) })? as usize)
    }

    pub fn name(self) -> Result<String> {
        text(|place, length| {
            // SAFETY: a valid communicator, and a buffer for any name.
            unsafe { mpi::Comm_get_name(self.0, place, length) }
        })
    }

    /// Position of its topology in [`Abi::topologies`], if it has one.
    fn topology(self, abi: &Abi) -> Result<Option<usize>> {
        // SAFETY: as above.
        let kind = number(|kind| unsafe { mpi::Topo_test(self.0, kind) })?;
        Ok(abi.topologies.iter().position(|known| *known == kind))
    }

    /// Neighbours in the communicator's topology that send to this process, and those that it sends to; negative ranks mean no
    /// process.
    pub fn neighbors(self, abi: &Abi) -> Result<[Vec<c_int>; 2]> {
        match self.topology(abi)? {
            None => Ok([Vec::new(), Vec::new()]),
            Some(CART) => {
                // SAFETY: as above; it has this topology.
                let dimensions = number(|dimensions| unsafe { mpi::Cartdim_get(self.0, dimensions) })?;
                let mut ranks = vec![-1; 2 * dimensions as usize];
                for (dimension, pair) in ranks.chunks_exact_mut(2).enumerate() {
                    let [lower, upper] = pair else { continue };
                    // SAFETY: as above, and that number of dimensions.
                    check(unsafe { mpi::Cart_shift(self.0, dimension as c_int, 1, lower, upper) })?;
                }
                Ok([ranks.clone(), ranks])
            }
            Some(GRAPH) => {
                let rank = self.rank()? as c_int;
                // SAFETY: as above.
                let count = number(|count| unsafe { mpi::Graph_neighbors_count(self.0, rank, count) })?;
                let mut ranks = vec![-1; count as usize];
                // SAFETY: as above, with memory for that many numbers.
                check(unsafe { mpi::Graph_neighbors(self.0, rank, count, ranks.as_mut_ptr()) })?;
                Ok([ranks.clone(), ranks])
            }
            Some(_) => self.distributed_neighbors(),
        }
    }

    fn distributed_neighbors(self) -> Result<[Vec<c_int>; 2]> {
        let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
        // SAFETY: as above; it has this topology.
        check(unsafe { mpi::Dist_graph_neighbors_count(self.0, &mut sources, &mut destinations, &mut weighted) })?;
        let mut ranks = [sources, destinations].map(|count| vec![-1; count as usize]);
        if sources + destinations > 0 {
            let mut weights = vec![0; sources.max(destinations) as usize];
            let ([into, out], weights) = (ranks.each_mut().map(Vec::as_mut_ptr), weights.as_mut_ptr());
            // SAFETY: as above, with memory for that many numbers.
            check(unsafe { mpi::Dist_graph_neighbors(self.0, sources, into, weights, destinations, out, weights) })?;
        }
        Ok(ranks)
    }

    pub fn is_inter(self) -> Result<bool> {
        // SAFETY: as above.
        Ok(number(|flag| unsafe { mpi::Comm_test_inter(self.0, flag) })? != 0)
    }

    /// Its ranks, translated to another communicator; `None` for ranks that are not in it.
    pub fn ranks_in(self, abi: &Abi, other: Comm) -> Result<Vec<Option<usize>>> {
        Group::of(abi, self)?.translate(self.size()?, &Group::of(abi, other)?)
    }

    /// Its ranks, translated to the world; `None` for ranks that are not in it.
    pub fn ranks_in_world(self, abi: &Abi) -> Result<Vec<Option<usize>>> {
        Group::of(abi, self)?.translate(self.size()?, Group::world(abi)?)
    }

    /// The ranks that messages are sent to, translated to the world; `None` for ranks that are not in it.
    pub fn remote_ranks_in_world(self, abi: &Abi) -> Result<Vec<Option<usize>>> {
        let group = if self.is_inter()? { Group::remote_of(abi, self)? } else { Group::of(abi, self)? };
        group.translate(self.remote_size()?, Group::world(abi)?)
    }

    /// A new communicator of the same ranks, without attributes, that returns errors. Collective.
    pub fn twin(self, abi: &Abi) -> Result<Comm> {
        let group = Group::of(abi, self)?;
        // SAFETY: valid handles, and a place for one.
        let comm = new_handle(abi, |place| unsafe { mpi::Comm_create(self.0, group.0, place) })?;
        Comm(comm).returning_errors(abi)
    }

    /// A new communicator of the ranks with equal `color`, that returns errors. Collective.
    pub fn split(self, abi: &Abi, color: usize, key: usize) -> Result<Comm> {
        // SAFETY: as above.
        let comm = new_handle(abi, |place| unsafe { mpi::Comm_split(self.0, color as c_int, key as c_int, place) })?;
        Comm(comm).returning_errors(abi)
    }

    fn returning_errors(self, abi: &Abi) -> Result<Comm> {
        // SAFETY: valid handles.
        check(unsafe { mpi::Comm_set_errhandler(self.0, abi.errors_return) })?;
        Ok(self)
    }

    /// Frees it. Collective.
    pub fn free(self) {
        let mut handle = self.0;
        // SAFETY: a pointer to a valid handle. An error is ignored: it only leaks memory.
        unsafe { mpi::Comm_free(ptr::from_mut(&mut handle).cast()) };
    }

    /// Calls the error handler of this communicator, which may end the program.
    pub fn raise(self, error: Error) -> c_int {
        // SAFETY: a valid communicator and an error code of MPI.
        unsafe { mpi::Comm_call_errhandler(self.0, error.0) };
        error.0
    }

    pub fn abort(self) {
        // SAFETY: a valid communicator.
        unsafe { mpi::Abort(self.0, 1) };
    }
}

impl Op {
    /// Whether it is predefined.
    pub fn is_own(self, abi: &Abi) -> bool {
        abi.is_own_operation(self.0)
    }

    pub fn is_commutative(self) -> Result<bool> {
        // SAFETY: a valid operation and a place for a number.
        Ok(number(|commutes| unsafe { mpi::Op_commutative(self.0, commutes) })? != 0)
    }

    /// `into = from (op) into`; both must have the same number of elements.
    pub fn reduce(self, from: Memory, into: Memory) -> Result<()> {
        // SAFETY: memory of that many elements.
        check(unsafe { mpi::Reduce_local(from.address(), into.address(), into.count(), into.datatype(), self.0) })
    }
}

/// The group that defines the ranks in profiles.
static WORLD: OnceLock<Group> = OnceLock::new();
/// Whether `WORLD` is a process set of a session.
static IS_OF_SESSION: AtomicBool = AtomicBool::new(false);

struct Group(Handle);

impl Group {
    fn world(abi: &Abi) -> Result<&'static Group> {
        match WORLD.get() {
            Some(world) => Ok(world),
            None => Group::of(abi, Comm::world(abi)).map(|world| WORLD.get_or_init(|| world)),
        }
    }

    fn of(abi: &Abi, comm: Comm) -> Result<Group> {
        // SAFETY: a valid communicator, and a place for a handle.
        new_handle(abi, |place| unsafe { mpi::Comm_group(comm.0, place) }).map(Group)
    }

    fn remote_of(abi: &Abi, comm: Comm) -> Result<Group> {
        // SAFETY: as above; it is one between two groups.
        new_handle(abi, |place| unsafe { mpi::Comm_remote_group(comm.0, place) }).map(Group)
    }

    /// Its first `size` ranks, translated to another group.
    fn translate(&self, size: usize, other: &Group) -> Result<Vec<Option<usize>>> {
        let ranks: Vec<c_int> = (0..size as c_int).collect();
        let mut found: Vec<c_int> = vec![UNDEFINED; size];
        // SAFETY: valid groups, and two arrays of that length.
        let code =
            unsafe { mpi::Group_translate_ranks(self.0, size as c_int, ranks.as_ptr(), other.0, found.as_mut_ptr()) };
        check(code)?;
        Ok(found.into_iter().map(|rank| usize::try_from(rank).ok()).collect())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: the place of a valid handle.
        unsafe { mpi::Group_free(ptr::from_mut(&mut self.0).cast()) };
    }
}

pub fn host_name() -> String {
    let name = text(|place, length| {
        // SAFETY: a buffer for any name, and a pointer for its length.
        unsafe { mpi::Get_processor_name(place, length) }
    });
    name.unwrap_or_default()
}

/// First line of MPI_Get_library_version.
pub fn library_version() -> String {
    let version = text(|place, length| {
        // SAFETY: as above.
        unsafe { mpi::Get_library_version(place, length) }
    });
    version.unwrap_or_default().lines().next().unwrap_or_default().into()
}

/// Calls a function that writes a string and its length.
fn text(call: impl FnOnce(mpi::Address, mpi::Out) -> c_int) -> Result<String> {
    // The maximum over all strings and ABIs: MPICH's MPI_MAX_LIBRARY_VERSION_STRING.
    let mut text = [0u8; 8192];
    let mut length = 0;
    check(call(text.as_mut_ptr().cast(), &mut length))?;
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    Ok(String::from_utf8_lossy(&text[..length]).into_owned())
}
