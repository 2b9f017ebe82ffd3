//! Collective calls on their way to a schedule or to the MPI.

use std::ffi::c_int;
use std::sync::Arc;

use super::abi::Abi;
use super::call::Call;
use super::functions::{self as mpi, Slot};
use super::generalized::Generalized;
use super::objects::{Comm, Result};
use super::plan::Planner;
use crate::communicator::Spanning;
use crate::execution::Execution;
use crate::flights::{self, Operation};
use crate::world;

/// A call that returns when the operation is complete.
pub fn blocking(call: &Call) -> c_int {
    match way(call, true) {
        Way::Schedule(comm, operation) => match operation.and_then(flights::run) {
            Ok(()) => 0,
            Err(error) => comm.raise(error),
        },
        Way::Native => {
            flights::finish();
            call.native()
        }
        Way::NativeBesideSchedules => {
            let mut request = 0usize;
            let slot = std::ptr::from_mut(&mut request).cast();
            // SAFETY: a place for a handle.
            let code = unsafe { call.start_native(slot) };
            if code == 0 { wait(slot) } else { code }
        }
    }
}

/// A call that returns at once.
///
/// # Safety
/// `request` must be a place for a handle.
pub unsafe fn nonblocking(call: &Call, request: Slot) -> c_int {
    let Way::Schedule(comm, operation) = way(call, false) else {
        // SAFETY: the caller's promise.
        return unsafe { call.start_native(request) };
    };
    let started = operation.and_then(|operation| {
        let abi = operation.abi();
        // SAFETY: the caller's promise.
        let generalized = unsafe { Generalized::start(abi, request) }?;
        flights::start(operation, generalized);
        Ok(())
    });
    started.map_or_else(|error| comm.raise(error), |()| 0)
}

/// Waits for a request of the MPI's own; no status is wanted.
pub fn wait(request: Slot) -> c_int {
    let ignore = Abi::get().map_or(0, |abi| abi.status_ignore) as mpi::Address;
    // SAFETY: the place of a valid handle, and one for a flag.
    flights::wait_for(|flag| unsafe { mpi::test(request, flag, ignore) })
}

/// How a call is carried out. All ranks of its communicator go the same way.
enum Way {
    /// By a schedule.
    Schedule(Comm, Result<Box<Operation>>),
    /// By the MPI's function.
    Native,
    /// By the MPI's function that returns at once, since schedules that were started on this communicator of late must get
    /// on meanwhile. (The two functions of MPI do not match each other, so whether schedules are under way cannot decide:
    /// that differs from rank to rank.)
    NativeBesideSchedules,
}

fn way(call: &Call, is_blocking: bool) -> Way {
    let Some(world) = world::get() else { return Way::Native };
    let abi = world.abi;
    let comm = Comm(abi.clean(call.comm()));
    let spanning = if comm.0 == abi.comm_null { None } else { world.judge(comm, is_blocking && call.has_schedules()) };
    let Some(spanning) = spanning else { return Way::Native };
    match scheduled(abi, call, comm, &spanning, is_blocking) {
        Some(operation) => {
            if !is_blocking {
                spanning.has_nonblocking();
            }
            Way::Schedule(comm, operation)
        }
        None if is_blocking && spanning.is_beside() => Way::NativeBesideSchedules,
        None => Way::Native,
    }
}

fn scheduled(
    abi: &'static Abi,
    call: &Call,
    comm: Comm,
    spanning: &Arc<Spanning>,
    is_blocking: bool,
) -> Option<Result<Box<Operation>>> {
    let planner = Planner { abi, call, comm, ranks: spanning.map.ranks(), rank: spanning.rank().0 };
    let plan = planner.plan()?;
    if !is_blocking && plan.op.is_some_and(|op| !op.is_own(abi)) {
        // The program may free its operation before we are done with it.
        return None;
    }
    let schedule = spanning.schedule(plan.operation, plan.element.bytes, plan.in_place)?;
    Some(planner.memory().map(|(buffers, finish)| {
        let execution = Execution::new(abi, spanning.clone(), schedule, plan.op, buffers);
        Box::new(Operation::new(execution, finish))
    }))
}
