//! Turns of a process's code, where several requests want it.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use crate::mpi::program::Mpi;

/// Requests take turns, in the order in which they come: what one has to do with the core is done before the next
/// begins, rather than the first step of all before the second of any.
#[derive(Default)]
pub(super) struct Turns {
    next: Cell<u64>,
    now: Cell<u64>,
}

impl Turns {
    /// Does something in a turn of its own.
    pub(super) async fn take(&self, mpi: &Mpi, work: impl Future<Output = ()>) {
        let mine = self.next.replace(self.next.get() + 1);
        poll_fn(|_| if self.now.get() == mine { Poll::Ready(()) } else { Poll::Pending }).await;
        work.await;
        self.now.set(mine + 1);
        mpi.wake(mpi.rank());
    }
}
