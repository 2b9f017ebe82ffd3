//! A schedule being carried out with MPI's own operations.

use std::sync::Arc;

use fishplate_collectives::{Action, Buffer, MAX_TAGS, Schedule, Slice};

use crate::communicator::{Spanning, Turn};
use crate::ffi::{Abi, Error, Memory, Op, Requests, Result, Scratch};

/// The memory of an operation.
pub struct Buffers {
    /// What the program gives.
    pub send: Memory,
    /// What it gets.
    pub receive: Memory,
}

/// A schedule under way.
pub struct Execution {
    abi: &'static Abi,
    communicator: Arc<Spanning>,
    turn: Turn,
    schedule: Arc<Schedule>,
    op: Option<Op>,
    buffers: Buffers,
    temporary: Memory,
    /// Owns what `temporary` is.
    scratch: Scratch,
    requests: Requests,
    states: Vec<State>,
    /// Steps that are not done.
    left: usize,
    /// Local steps that are not started.
    locals_left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Started,
    Done,
}

impl Execution {
    /// Nothing is started yet.
    pub fn new(
        abi: &'static Abi,
        communicator: Arc<Spanning>,
        schedule: Arc<Schedule>,
        op: Option<Op>,
        buffers: Buffers,
    ) -> Execution {
        let mut scratch = Scratch::new(schedule.temporary_len(), buffers.receive.element());
        let steps = schedule.steps();
        Execution {
            abi,
            turn: communicator.turn(),
            op,
            buffers,
            temporary: scratch.memory(),
            scratch,
            requests: Requests::new(abi),
            states: vec![State::Waiting; steps.len()],
            left: steps.len(),
            locals_left: steps.iter().filter(|step| matches!(step.action, Action::Local(_))).count(),
            schedule,
            communicator,
        }
    }

    /// The MPI's interface.
    pub fn abi(&self) -> &'static Abi {
        self.abi
    }

    /// Does what can be done now, without waiting; whether all is done.
    pub fn progress(&mut self) -> Result<bool> {
        if !self.communicator.may_start(&self.turn) {
            return Ok(false);
        }
        let mut done = Vec::new();
        loop {
            while self.start_steps()? {}
            self.requests.complete(&mut done)?;
            if done.is_empty() {
                break;
            }
            self.left -= done.len();
            done.drain(..).for_each(|step| self.states[step] = State::Done);
        }
        if self.locals_left == 0 {
            self.communicator.pass_turn(&mut self.turn);
        }
        Ok(self.left == 0 && self.turn.is_passed())
    }

    /// Starts every step that may start. Whether one was done on the spot, so that others may start now.
    fn start_steps(&mut self) -> Result<bool> {
        let schedule = self.schedule.clone();
        let mut done_here = false;
        let mut locals_may_start = self.locals_left > 0 && self.communicator.has_turn(&self.turn);
        for (index, step) in schedule.steps().iter().enumerate() {
            if self.states[index] != State::Waiting {
                continue;
            }
            let is_local = matches!(step.action, Action::Local(_));
            let is_ready = step.after.iter().all(|before| self.states[before.0] == State::Done);
            if is_ready && (!is_local || locals_may_start) {
                self.states[index] = self.start(index, &step.action)?;
                self.locals_left -= usize::from(is_local);
                if self.states[index] == State::Done {
                    self.left -= 1;
                    done_here = true;
                }
            } else if is_local {
                // Local steps start in their order.
                locals_may_start = false;
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
        let tag = |tag: u16| self.turn.window_slot() * i32::from(MAX_TAGS) + i32::from(tag);
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
            // After an error MPI may still use what the requests are about.
            std::mem::forget(std::mem::replace(&mut self.scratch, Scratch::new(0, self.buffers.receive.element())));
            std::mem::forget(std::mem::replace(&mut self.requests, Requests::new(self.abi)));
        }
        self.communicator.leave(&self.turn);
    }
}
