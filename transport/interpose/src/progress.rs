//! The progress engine for operations in flight.
//!
//! MPI requires that operations in flight make progress during any call that waits. Schedules make progress only when polled.
//! So calls that wait run a loop, which polls their own operation and every schedule.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::thread;

use crate::execution::Execution;
use crate::ffi::{GeneralizedRequest, Result};
use crate::sync::lock;

/// A non-blocking operation with the program's request.
struct InFlight {
    execution: Box<Execution>,
    request: GeneralizedRequest,
}

static IN_FLIGHT: Mutex<Vec<InFlight>> = Mutex::new(Vec::new());
/// Length of `IN_FLIGHT`; can be read without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Number of unsuccessful polls after which a process yields its processor: if there are more ranks than processors, the
/// peers may need it.
const POLLS_BEFORE_YIELD: u32 = 8;

/// Whether no operation is in flight.
pub fn is_empty() -> bool {
    COUNT.load(Ordering::Acquire) == 0
}

/// Starts an operation, whose end completes the request.
pub fn start(mut execution: Box<Execution>, request: GeneralizedRequest) {
    if let Some(result) = execution.advance() {
        request.complete(result);
        return;
    }
    let mut operations = lock(&IN_FLIGHT);
    operations.push(InFlight { execution, request });
    COUNT.store(operations.len(), Ordering::Release);
}

/// Makes progress on all operations in flight.
pub fn advance() {
    if is_empty() {
        return;
    }
    // Another thread may be advancing them.
    let mut operations = match IN_FLIGHT.try_lock() {
        Ok(operations) => operations,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    let mut index = 0;
    while index < operations.len() {
        match operations[index].execution.advance() {
            // In order: later operations may wait for earlier ones.
            Some(result) => {
                let operation_in_flight = operations.remove(index);
                operation_in_flight.request.complete(result);
            }
            None => index += 1,
        }
    }
    COUNT.store(operations.len(), Ordering::Release);
}

/// Completes all operations in flight. To be called before an MPI call that waits without making progress on them.
pub fn finish_all() {
    wait(|| is_empty().then_some(()));
}

/// Runs an operation to its completion.
pub fn run(mut execution: Box<Execution>) -> Result<()> {
    wait(|| execution.advance())
}

/// Polls until there is a result.
pub fn wait<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let mut fruitless = 0;
    loop {
        if let Some(answer) = poll() {
            return answer;
        }
        advance();
        fruitless += 1;
        if fruitless > POLLS_BEFORE_YIELD {
            thread::yield_now();
        }
    }
}

/// Waits by the non-blocking form of the program's call: `poll` sets its flag on completion.
pub fn wait_for(mut poll: impl FnMut(&mut c_int) -> c_int) -> c_int {
    wait(|| {
        let mut flag = 0;
        let code = poll(&mut flag);
        (code != 0 || flag != 0).then_some(code)
    })
}
