//! Executes a schedule with non-blocking MPI operations.

use std::sync::Arc;

use fishplate_collectives::{Action, Buffer, MAX_TAGS, Schedule, Slice};

use crate::communicator::SpanningComm;
use crate::ffi::{Abi, Error, Memory, Op, Requests, Result, Scratch, Unpacking};
use crate::operation_order::Ticket;

/// The program's buffers of an operation.
pub struct Buffers {
    pub send: Memory,
    pub receive: Memory,
    /// Of what is received, when all steps are complete.
    pub unpacking: Unpacking,
}

pub struct Execution {
    abi: &'static Abi,
    communicator: Arc<SpanningComm>,
    ticket: Ticket,
    schedule: Arc<Schedule>,
    op: Option<Op>,
    buffers: Buffers,
    temporary: Memory,
    /// Owner of `temporary`.
    scratch: Scratch,
    requests: Requests,
    states: Vec<State>,
    steps_left: usize,
    /// Number of collective operations within the cluster that are not started.
    cluster_collectives_left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Started,
    Done,
}

impl Execution {
    /// Starts no step yet.
    pub fn new(
        abi: &'static Abi,
        communicator: Arc<SpanningComm>,
        schedule: Arc<Schedule>,
        op: Option<Op>,
        buffers: Buffers,
    ) -> Execution {
        let mut scratch = Scratch::new(schedule.temporary_len(), buffers.receive.element());
        let steps = schedule.steps();
        Execution {
            abi,
            ticket: communicator.order.ticket(),
            op,
            buffers,
            temporary: scratch.memory(),
            scratch,
            requests: Requests::new(abi),
            states: vec![State::Waiting; steps.len()],
            steps_left: steps.len(),
            cluster_collectives_left: steps.iter().filter(|step| matches!(step.action, Action::Local(_))).count(),
            schedule,
            communicator,
        }
    }

    /// The MPI's interface.
    pub fn abi(&self) -> &'static Abi {
        self.abi
    }

    /// Makes progress without waiting. Returns the result once the operation is complete.
    pub fn advance(&mut self) -> Option<Result<()>> {
        match self.progress() {
            Ok(false) => None,
            Ok(true) => Some(self.buffers.unpacking.unpack()),
            Err(error) => {
                // After an error MPI may still access the memory.
                std::mem::forget(std::mem::take(&mut self.buffers.unpacking));
                Some(Err(error))
            }
        }
    }

    /// Returns whether all steps are complete.
    fn progress(&mut self) -> Result<bool> {
        if !self.communicator.order.may_start(&self.ticket) {
            return Ok(false);
        }
        let mut done = Vec::new();
        loop {
            while self.start_steps()? {}
            self.requests.complete(&mut done)?;
            if done.is_empty() {
                break;
            }
            self.steps_left -= done.len();
            done.drain(..).for_each(|step| self.states[step] = State::Done);
        }
        if self.cluster_collectives_left == 0 {
            self.communicator.order.pass(&mut self.ticket);
        }
        Ok(self.steps_left == 0 && self.ticket.is_passed())
    }

    /// Starts every step whose dependencies are complete. Returns whether a step completed at once, so that others may start.
    fn start_steps(&mut self) -> Result<bool> {
        let schedule = self.schedule.clone();
        let mut done_here = false;
        let mut collectives_may_start =
            self.cluster_collectives_left > 0 && self.communicator.order.may_start_cluster_collectives(&self.ticket);
        for (index, step) in schedule.steps().iter().enumerate() {
            if self.states[index] != State::Waiting {
                continue;
            }
            let is_collective = matches!(step.action, Action::Local(_));
            let is_ready = step.after.iter().all(|before| self.states[before.0] == State::Done);
            if is_ready && (!is_collective || collectives_may_start) {
                self.states[index] = self.start(index, &step.action)?;
                self.cluster_collectives_left -= usize::from(is_collective);
                if self.states[index] == State::Done {
                    self.steps_left -= 1;
                    done_here = true;
                }
            } else if is_collective {
                // Collective operations of the cluster must start in order.
                collectives_may_start = false;
            }
        }
        Ok(done_here)
    }

    fn start(&mut self, index: usize, action: &Action) -> Result<State> {
        let (buffers, temporary) = (&self.buffers, self.temporary);
        let place = |slice: Slice| match slice.buffer {
            Buffer::Send => buffers.send.part(slice),
            Buffer::Receive => buffers.receive.part(slice),
            Buffer::Temporary => temporary.part(slice),
        };
        let tag = |tag: u16| self.ticket.window_slot() * i32::from(MAX_TAGS) + i32::from(tag);
        let all = self.communicator.all;
        match action {
            Action::Send { to, from, tag: t } => self.requests.send(index, all, place(*from), to.0, tag(t.0))?,
            Action::Receive { from, into, tag: t } => {
                self.requests.receive(index, all, place(*into), from.0, tag(t.0))?;
            }
            Action::Copy { from, into } => {
                place(*into).copy(place(*from));
                return Ok(State::Done);
            }
            Action::Reduce { from, into } => {
                let op = self.op.ok_or(Error(self.abi.error_other))?;
                op.reduce(place(*from), place(*into))?;
                return Ok(State::Done);
            }
            Action::Local(local) => self.requests.local(index, self.communicator.cluster, local, self.op, place)?,
        }
        Ok(State::Started)
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            // After an error MPI may still access the buffers of active requests.
            std::mem::forget(std::mem::replace(&mut self.scratch, Scratch::new(0, self.buffers.receive.element())));
            std::mem::forget(std::mem::replace(&mut self.requests, Requests::new(self.abi)));
        }
        self.communicator.order.retire(&self.ticket);
    }
}
