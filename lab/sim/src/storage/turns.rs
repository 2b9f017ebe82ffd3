//! Exclusive use of a process's core by one request at a time.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use crate::mpi::program::Mpi;

/// Requests take turns in the order of their arrival: all work of one on the core is done before the work of the next
/// begins.
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
