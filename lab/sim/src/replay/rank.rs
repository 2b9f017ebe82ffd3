//! One rank goes through its trace.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fishplate_trace::{Collective, Epoch, Mode, Operation, RankTrace, Receive, Send, Step};

use super::communicators::{AllMembers, Communicators, OWN_BITS};
use super::processors::Processors;
use super::requests::Requests;
use super::{CallTimes, Computation, RankOutcome, collective};
use crate::models::time::Time;
use crate::mpi::program::{Mpi, Task};
use crate::mpi::rank::Request;

/// Does what a trace says.
pub async fn replay(
    mpi: &Mpi,
    trace: &RankTrace,
    (computation, processors, members): (Computation, &Processors, &Rc<AllMembers>),
    (place, mut calls): (&Cell<usize>, Option<&mut CallTimes>),
) -> RankOutcome {
    let communicators = Communicators::new(members);
    let (requests, one_sided, buffered) = (Requests::default(), BTreeMap::new(), Buffered::default());
    let mut rank = Rank { mpi: mpi.clone(), communicators, requests, one_sided, buffered };
    let mut computed = Time::default();
    for (at, step) in trace.steps.iter().enumerate() {
        place.set(at);
        let time = computation.of(step);
        let begun = rank.mpi.time();
        processors.compute(&rank.mpi, time).await;
        let called = rank.mpi.time();
        computed = computed + (called - begun);
        rank.carry_out(&trace.operations[step.operation as usize]).await;
        if let Some(calls) = &mut calls {
            calls.push([called, rank.mpi.time()]);
        }
    }
    RankOutcome { end: rank.mpi.time(), computed }
}

impl Computation {
    fn of(&self, step: &Step) -> Time {
        let idle = if self.with_idle { step.idle_ns } else { 0 };
        Time::ns((step.processor_ns + idle) as f64 * self.scale)
    }
}

struct Rank {
    mpi: Mpi,
    communicators: Communicators,
    requests: Requests,
    /// One-sided operations that are not complete, by window, with their targets.
    one_sided: BTreeMap<u32, Vec<(u32, Request)>>,
    buffered: Buffered,
}

/// Sends that go on by themselves.
#[derive(Default)]
struct Buffered {
    /// With their communicators.
    sends: Vec<(u32, Request)>,
    /// Communicators with a buffer of their own.
    apart: BTreeSet<u32>,
}

impl Buffered {
    /// Buffered sends on a communicator with an attached buffer.
    fn take_of(&mut self, communicator: u32) -> Vec<Request> {
        self.apart.insert(communicator);
        self.sends.extract_if(.., |(of, _)| *of == communicator).map(|(_, request)| request).collect()
    }

    /// Buffered sends on all other communicators.
    fn take_shared(&mut self) -> Vec<Request> {
        self.sends.extract_if(.., |(of, _)| !self.apart.contains(of)).map(|(_, request)| request).collect()
    }
}

impl Rank {
    async fn carry_out(&mut self, operation: &Operation) {
        match operation {
            Operation::Communicator { number, context, members } => {
                self.communicators.define(*number, *context, members);
            }
            Operation::Send(send) => {
                let requests = self.send(send).await;
                if send.mode == Mode::Buffered {
                    self.buffered.sends.extend(requests.iter().map(|request| (send.communicator, *request)));
                    self.complete(send.request, &[]).await;
                } else {
                    self.complete(send.request, &requests).await;
                }
            }
            Operation::Receive(receive) => {
                let request = self.receive(receive).await;
                self.complete(receive.request, &[request]).await;
            }
            Operation::Exchange(send, receive) => {
                let mut requests = vec![self.receive(receive).await];
                requests.extend(self.send(send).await);
                self.complete(send.request, &requests).await;
            }
            Operation::Wait(completed) => {
                self.requests.wait(&self.mpi, completed.iter().map(|one| one.request)).await;
            }
            Operation::Collective(operation) => self.collective(operation).await,
            Operation::OneSided { window, target, written, read, request } => {
                self.one_sided((*window, *target), [*written, *read], *request).await;
            }
            Operation::Epoch { window, kind } => self.epoch(*window, *kind).await,
            Operation::Thread { .. } => {}
            Operation::Flush => {
                let buffered = self.buffered.take_shared();
                self.complete(None, &buffered).await;
            }
            Operation::FlushCommunicator { communicator } => {
                let buffered = self.buffered.take_of(*communicator);
                self.complete(None, &buffered).await;
            }
            Operation::End => {
                let all: Vec<Request> = self.buffered.sends.drain(..).map(|(_, request)| request).collect();
                self.complete(None, &all).await;
            }
        }
    }

    async fn send(&mut self, send: &Send) -> Vec<Request> {
        let tag = self.communicators.get(send.communicator).tag(send.tag);
        if send.mode == Mode::Synchronous {
            self.mpi.isend_synchronous(send.to, tag, send.bytes).await.to_vec()
        } else {
            vec![self.mpi.isend(send.to, tag, send.bytes).await]
        }
    }

    async fn receive(&mut self, receive: &Receive) -> Request {
        let communicator = self.communicators.get(receive.communicator);
        let tag = match receive.tag {
            Some(tag) => (communicator.tag(tag), 0),
            None => (communicator.tag(0), (1 << OWN_BITS) - 1),
        };
        self.mpi.irecv_any(receive.from, tag, receive.bytes).await
    }

    async fn collective(&mut self, operation: &Collective) {
        let communicator = self.communicators.get(operation.communicator);
        let mut begin = |mpi: &Mpi| collective::task(mpi, communicator, operation);
        match operation.request {
            Some(slot) => {
                self.requests.add_collective(slot, &self.mpi, begin);
                self.requests.finish(Vec::new()).await;
            }
            None => self.requests.finish(vec![begin(&self.mpi)]).await,
        }
    }

    /// A call that creates a request returns at once; others wait.
    async fn complete(&mut self, slot: Option<u32>, requests: &[Request]) {
        if let Some(slot) = slot {
            self.requests.begin(slot);
            requests.iter().for_each(|request| self.requests.add(slot, *request));
            return;
        }
        let (mpi, requests) = (self.mpi.clone(), requests.to_vec());
        let wait: Task = Box::pin(async move { mpi.wait_all(&requests).await });
        self.requests.finish(vec![wait]).await;
    }

    async fn one_sided(&mut self, (window, target): (u32, u32), [written, read]: [u64; 2], request: Option<u32>) {
        let mut begun = Vec::new();
        if written > 0 {
            begun.push(self.mpi.put(target, written).await);
        }
        if read > 0 {
            begun.push(self.mpi.get(target, read).await);
        }
        match request {
            Some(slot) => begun.into_iter().for_each(|request| self.requests.add(slot, request)),
            None => {
                let open = self.one_sided.entry(window).or_default();
                open.extend(begun.into_iter().map(|request| (target, request)));
            }
        }
    }

    async fn epoch(&mut self, window: u32, kind: Epoch) {
        let open = self.one_sided.entry(window).or_default();
        let is_meant = |target: u32| !matches!(kind, Epoch::Flush(Some(only)) if only != target);
        let done: Vec<Request> = open.extract_if(.., |(target, _)| is_meant(*target)).map(|(_, one)| one).collect();
        self.complete(None, &done).await;
        if kind == Epoch::Fence {
            let task = collective::barrier_task(&self.mpi, self.communicators.get(window));
            self.requests.finish(vec![task]).await;
        }
    }
}
