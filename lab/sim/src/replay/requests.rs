//! Active requests of a rank.

use std::future::poll_fn;
use std::task::Poll;

use fishplate_trace::operation::Slot;

use crate::mpi::log::Strand;
use crate::mpi::program::{Mpi, Task};
use crate::mpi::rank::Request;

/// By number of the trace's request.
#[derive(Default)]
pub struct Requests {
    slots: Vec<Vec<UnderWay>>,
    /// Which of them have a collective operation that has not ended.
    collectives: Vec<Slot>,
    /// Collective operations so far.
    strands: u32,
}

enum UnderWay {
    Message(Request),
    Collective(Task),
    /// A collective operation, whether or not it has ended.
    Strand(Strand),
}

impl Requests {
    /// Begins a request. If its number is in use, the previous request was freed: its messages continue without a waiter.
    pub fn begin(&mut self, slot: Slot) {
        self.slot(slot).retain(|under_way| matches!(under_way, UnderWay::Collective(_)));
    }

    /// A message is a part of this request.
    pub fn add(&mut self, slot: Slot, request: Request) {
        self.slot(slot).push(UnderWay::Message(request));
    }

    /// A collective operation is this request.
    pub fn add_collective(&mut self, slot: Slot, mpi: &Mpi, begin: impl FnOnce(&Mpi) -> Task) {
        self.strands += 1;
        let strand = Strand(self.strands);
        let task = begin(&mpi.beside(strand));
        self.slot(slot).extend([UnderWay::Collective(task), UnderWay::Strand(strand)]);
        self.collectives.push(slot);
    }

    /// Waits for these.
    pub async fn wait(&mut self, mpi: &Mpi, slots: impl Iterator<Item = Slot>) {
        let (mut messages, mut collectives, mut strands) = (Vec::new(), Vec::new(), Vec::new());
        for under_way in slots.flat_map(|slot| std::mem::take(self.slot(slot))) {
            match under_way {
                UnderWay::Message(request) => messages.push(request),
                UnderWay::Collective(task) => collectives.push(task),
                UnderWay::Strand(strand) => strands.push(strand),
            }
        }
        // Its messages may have arrived while the rank computed and did not poll.
        if !collectives.is_empty() {
            mpi.progress();
        }
        if !messages.is_empty() {
            let all: Task = {
                let mpi = mpi.clone();
                Box::pin(async move { mpi.wait_all(&messages).await })
            };
            collectives.push(all);
        }
        self.finish(collectives).await;
        strands.into_iter().for_each(|strand| mpi.joined(strand));
    }

    /// Carries these out, and lets collective operations that are under way make progress meanwhile.
    pub async fn finish(&mut self, mut tasks: Vec<Task>) {
        poll_fn(|context| {
            let slots = &mut self.slots;
            self.collectives.retain(|slot| {
                let mut is_pending = false;
                slots[*slot as usize].retain_mut(|under_way| {
                    let UnderWay::Collective(task) = under_way else { return true };
                    let goes_on = task.as_mut().poll(context).is_pending();
                    is_pending |= goes_on;
                    goes_on
                });
                is_pending
            });
            tasks.retain_mut(|task| task.as_mut().poll(context).is_pending());
            if tasks.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn slot(&mut self, slot: Slot) -> &mut Vec<UnderWay> {
        let at = slot as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, Vec::new);
        }
        &mut self.slots[at]
    }
}
