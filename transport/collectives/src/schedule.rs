//! Schedules, and how they are put together.

use crate::buffer::{Buffer, Slice};
use crate::map::Rank;
use crate::step::{Action, Local, Step, StepId, Tag};

/// Steps of one rank for an operation.
///
/// To execute it: start every step without blocking as soon as its predecessors are complete, in any order and several
/// at once; but start the [`Local`] steps in the order of the schedule, as MPI asks of collectives on one communicator.
/// The operation is complete when all steps are. No step may be left waiting while another could start: peers rely on
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schedule {
    steps: Vec<Step>,
    temporary_len: usize,
}

impl Schedule {
    /// The steps; each comes after ones before it only.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Elements of [`Buffer::Temporary`].
    pub fn temporary_len(&self) -> usize {
        self.temporary_len
    }

    /// Allocates `len` elements of the temporary buffer.
    pub(crate) fn temporary(&mut self, len: usize) -> Slice {
        let start = self.temporary_len;
        self.temporary_len += len;
        Slice::new(Buffer::Temporary, start, len)
    }

    pub(crate) fn send(&mut self, to: Rank, from: Slice, tag: Tag, after: &[StepId]) -> StepId {
        self.add(Action::Send { to, from, tag }, after)
    }

    pub(crate) fn receive(&mut self, from: Rank, into: Slice, tag: Tag, after: &[StepId]) -> StepId {
        self.add(Action::Receive { from, into, tag }, after)
    }

    /// Copies elements; no step if there are none, or if `from` is `into`.
    pub(crate) fn copy(&mut self, from: Slice, into: Slice, after: &[StepId]) -> Option<StepId> {
        debug_assert_eq!(from.len, into.len);
        (from.len > 0 && from != into).then(|| self.add(Action::Copy { from, into }, after))
    }

    pub(crate) fn reduce(&mut self, from: Slice, into: Slice, after: &[StepId]) -> StepId {
        self.add(Action::Reduce { from, into }, after)
    }

    pub(crate) fn local(&mut self, local: Local, after: &[StepId]) -> StepId {
        self.add(Action::Local(local), after)
    }

    fn add(&mut self, action: Action, after: &[StepId]) -> StepId {
        self.steps.push(Step { action, after: after.to_vec() });
        StepId(self.steps.len() - 1)
    }
}
