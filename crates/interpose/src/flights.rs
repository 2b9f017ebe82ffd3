//! Non-blocking operations under way, and calls that wait.
//!
//! MPI asks that an operation under way gets on during any call that waits. Schedules get on when they are asked to, so
//! calls that wait do that: they look again and again, at what they wait for and at every schedule.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::thread;

use crate::communicator::lock;
use crate::execution::Execution;
use crate::ffi::{Abi, Finish, Generalized, Result};

/// An operation with its memory, from its start to its end.
pub struct Operation {
    execution: Execution,
    finish: Finish,
}

/// An operation that the program has a request for.
struct Flight {
    operation: Box<Operation>,
    request: Generalized,
}

static FLIGHTS: Mutex<Vec<Flight>> = Mutex::new(Vec::new());
/// Length of `FLIGHTS`, for a look without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Looks in vain after which a process gives its processor away: there may be more ranks than processors, and those that
/// are waited for need one.
const PATIENCE: u32 = 8;

impl Operation {
    /// Not started yet.
    pub fn new(execution: Execution, finish: Finish) -> Operation {
        Operation { execution, finish }
    }

    /// The MPI's interface.
    pub fn abi(&self) -> &'static Abi {
        self.execution.abi()
    }

    /// Gets on; the result when it is done.
    fn progress(&mut self) -> Option<Result<()>> {
        match self.execution.progress() {
            Ok(false) => None,
            Ok(true) => Some(self.finish.finish()),
            Err(error) => {
                // MPI may still use the memory.
                std::mem::forget(std::mem::take(&mut self.finish));
                Some(Err(error))
            }
        }
    }
}

/// Whether no operation is under way.
pub fn is_empty() -> bool {
    COUNT.load(Ordering::Acquire) == 0
}

/// Sends an operation off; the request is completed when it is done.
pub fn start(mut operation: Box<Operation>, request: Generalized) {
    if let Some(result) = operation.progress() {
        request.complete(result);
        return;
    }
    let mut flights = lock(&FLIGHTS);
    flights.push(Flight { operation, request });
    COUNT.store(flights.len(), Ordering::Release);
}

/// Gets on with all operations under way.
pub fn progress() {
    if is_empty() {
        return;
    }
    // Somebody else may be at it.
    let mut flights = match FLIGHTS.try_lock() {
        Ok(flights) => flights,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    let mut index = 0;
    while index < flights.len() {
        match flights[index].operation.progress() {
            // In order, for those that wait for their turn.
            Some(result) => {
                let flight = flights.remove(index);
                flight.request.complete(result);
            }
            None => index += 1,
        }
    }
    COUNT.store(flights.len(), Ordering::Release);
}

/// Finishes all operations under way, before a call of the MPI that waits and during which they cannot get on.
pub fn finish() {
    wait(|| is_empty().then_some(()));
}

/// Carries an operation out.
pub fn run(mut operation: Box<Operation>) -> Result<()> {
    wait(|| operation.progress())
}

/// Looks until there is an answer.
pub fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut vain = 0;
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        progress();
        vain += 1;
        if vain > PATIENCE {
            thread::yield_now();
        }
    }
}

/// Waits by the non-blocking form of what the program called: `look` sets its flag when that is done.
pub fn wait_for(mut look: impl FnMut(&mut c_int) -> c_int) -> c_int {
    wait(|| {
        let mut flag = 0;
        let code = look(&mut flag);
        (code != 0 || flag != 0).then_some(code)
    })
}
