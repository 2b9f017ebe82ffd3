//! Decides which collective calls are executed by a schedule and which by the MPI.

use std::ffi::c_int;
use std::sync::Arc;

use super::abi::Abi;
use super::call::Call;
use super::functions::{self as mpi, Address, Slot};
use super::generalized_request::GeneralizedRequest;
use super::objects::{Comm, Result};
use super::plan::Planner;
use crate::communicator::SpanningComm;
use crate::execution::Execution;
use crate::process_state;
use crate::progress;

pub fn blocking(call: &Call) -> c_int {
    match route(call, true) {
        Route::Schedule(comm, operation) => match operation.and_then(progress::run) {
            Ok(()) => 0,
            Err(error) => comm.raise(error),
        },
        Route::Native => {
            progress::finish_all();
            call.native_blocking()
        }
        Route::NativeNonblocking => {
            let mut request = 0usize;
            let slot = std::ptr::from_mut(&mut request).cast();
            // SAFETY: a pointer to a handle.
            let code = unsafe { call.native_nonblocking(slot) };
            if code == 0 { wait(slot, ignored()) } else { code }
        }
    }
}

/// Executes a non-blocking call.
///
/// # Safety
/// `request` must point to a handle.
pub unsafe fn nonblocking(call: &Call, request: Slot) -> c_int {
    let Route::Schedule(comm, operation) = route(call, false) else {
        // SAFETY: the caller's promise.
        return unsafe { call.native_nonblocking(request) };
    };
    let started = operation.and_then(|execution| {
        // SAFETY: the caller's promise.
        let generalized_request = unsafe { GeneralizedRequest::start(execution.abi(), request) }?;
        progress::start(execution, generalized_request);
        Ok(())
    });
    started.map_or_else(|error| comm.raise(error), |()| 0)
}

/// Waits for a request that the MPI has just made.
pub fn wait(request: Slot, status: Address) -> c_int {
    // SAFETY: the place of its handle, a flag, and the program's place for a status or [`ignored`].
    progress::wait_for(|flag| unsafe { mpi::Test(request, flag, status) })
}

/// MPI_STATUS_IGNORE.
pub fn ignored() -> Address {
    Abi::get().map_or(0, |abi| abi.status_ignore) as Address
}

/// How a call is executed. The decision is equal on all ranks of the communicator.
enum Route {
    Schedule(Comm, Result<Box<Execution>>),
    /// By the MPI's function of the same name.
    Native,
    /// By the MPI's non-blocking function, so that schedules started recently on this communicator make progress meanwhile.
    /// (Blocking and non-blocking collective calls do not match each other. The decision therefore cannot depend on whether
    /// schedules are active, which differs between ranks.)
    NativeNonblocking,
}

fn route(call: &Call, is_blocking: bool) -> Route {
    let Some(world) = process_state::get() else { return Route::Native };
    let abi = world.abi;
    let comm = Comm(abi.clean(call.comm()));
    let spanning = if comm.0 == abi.comm_null { None } else { world.lookup(comm, is_blocking && call.has_schedules()) };
    let Some(spanning) = spanning else { return Route::Native };
    match scheduled(abi, call, comm, &spanning, is_blocking) {
        Some(operation) => {
            if !is_blocking {
                spanning.note_nonblocking();
            }
            Route::Schedule(comm, operation)
        }
        None if is_blocking && spanning.must_progress() => Route::NativeNonblocking,
        None => Route::Native,
    }
}

fn scheduled(
    abi: &'static Abi,
    call: &Call,
    comm: Comm,
    spanning: &Arc<SpanningComm>,
    is_blocking: bool,
) -> Option<Result<Box<Execution>>> {
    let planner = Planner { abi, call, comm, ranks: spanning.map.ranks(), rank: spanning.rank().0 };
    let plan = planner.plan()?;
    if !is_blocking && plan.op.is_some_and(|op| !op.is_own(abi)) {
        // The program may free its operation before the schedule is complete.
        return None;
    }
    let schedule = spanning.schedule(plan.operation, plan.element.bytes, plan.in_place)?;
    Some(planner.memory().map(|buffers| Box::new(Execution::new(abi, spanning.clone(), schedule, plan.op, buffers))))
}
