//! Processors that ranks share: a rank that computes occupies one for a slice of time, in turn with the ranks that wait
//! for one. A rank that waits in MPI yields, so it occupies none.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::models::time::Time;
use crate::mpi::program::Mpi;

/// Time slice of a rank: the base slice of Linux' scheduler on a few processors, 2.8 ms.
const SLICE: Time = Time(2_800_000_000);

/// The processors of a machine.
#[derive(Clone)]
pub struct Processors(Option<Rc<RefCell<Shared>>>);

struct Shared {
    free: u32,
    waiting: VecDeque<u32>,
    /// By rank: whether it was granted a processor, and has not noticed yet.
    granted: Vec<bool>,
}

impl Processors {
    /// One processor for each rank, or a number of processors for all.
    pub fn new(count: Option<u32>, ranks: u32) -> Processors {
        let shared = |free| Shared { free, waiting: VecDeque::new(), granted: vec![false; ranks as usize] };
        Processors(count.filter(|count| *count < ranks).map(|count| Rc::new(RefCell::new(shared(count)))))
    }

    /// The rank computes for this time.
    pub async fn compute(&self, mpi: &Mpi, time: Time) {
        let Some(shared) = &self.0 else { return mpi.compute(time).await };
        let mut left = time;
        while left > Time::default() {
            let slice = left.min(SLICE);
            take(shared, mpi).await;
            mpi.waited_for_processor();
            mpi.compute(slice).await;
            give(shared, mpi);
            left = left - slice;
        }
    }
}

async fn take(shared: &RefCell<Shared>, mpi: &Mpi) {
    let rank = mpi.rank();
    {
        let mut shared = shared.borrow_mut();
        if shared.free > 0 {
            shared.free -= 1;
            return;
        }
        shared.waiting.push_back(rank);
    }
    let is_granted = || std::mem::take(&mut shared.borrow_mut().granted[rank as usize]);
    poll_fn(|_| if is_granted() { Poll::Ready(()) } else { Poll::Pending }).await;
}

fn give(shared: &RefCell<Shared>, mpi: &Mpi) {
    let mut shared = shared.borrow_mut();
    match shared.waiting.pop_front() {
        Some(next) => {
            shared.granted[next as usize] = true;
            mpi.wake(next);
        }
        None => shared.free += 1,
    }
}
