//! Carries out a schedule of `fishplate_collectives`. Copies and sums on the way are not charged.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use fishplate_collectives::{Action, Local, LocalRank, Schedule, Slice};

use super::{Broadcast, Group, barrier, broadcast, irregular, reduce};
use crate::mpi::program::{Mpi, Tag, Task};

/// Tags of operations among the ranks of a cluster, from the schedule's own on: each may use two.
const TAGS_OF_LOCAL: Tag = 2;

/// One operation by its schedule, whose elements are bytes. `cluster`: the ranks of this one's cluster.
pub async fn scheduled(mpi: &Mpi, schedule: &Schedule, cluster: &Group, tag: Tag) {
    let mut execution = Execution::new(mpi, schedule, cluster.clone(), tag);
    poll_fn(|context| if execution.poll(context) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// A schedule under way: every step starts as soon as those that it comes after are complete.
struct Execution<'a> {
    mpi: &'a Mpi,
    schedule: &'a Schedule,
    cluster: Group,
    tag: Tag,
    /// Steps that each still waits for.
    missing: Vec<usize>,
    /// Steps that wait for each.
    followers: Vec<Vec<usize>>,
    /// Steps that can start.
    startable: VecDeque<usize>,
    /// Operations of the cluster that have not started: MPI wants them in order.
    locals: VecDeque<usize>,
    running: Vec<(usize, Task)>,
    left: usize,
}

impl<'a> Execution<'a> {
    fn new(mpi: &'a Mpi, schedule: &'a Schedule, cluster: Group, tag: Tag) -> Self {
        let steps = schedule.steps();
        let mut followers = vec![Vec::new(); steps.len()];
        for (index, step) in steps.iter().enumerate() {
            step.after.iter().for_each(|before| followers[before.0].push(index));
        }
        let missing: Vec<usize> = steps.iter().map(|step| step.after.len()).collect();
        let is_local = |index: &usize| matches!(steps[*index].action, Action::Local(_));
        let startable = (0..steps.len()).filter(|index| missing[*index] == 0 && !is_local(index)).collect();
        let locals = (0..steps.len()).filter(is_local).collect();
        let left = steps.len();
        Execution { mpi, schedule, cluster, tag, missing, followers, startable, locals, running: Vec::new(), left }
    }

    /// Does what can be done. True: all is done.
    fn poll(&mut self, context: &mut Context) -> bool {
        loop {
            self.start();
            let mut done = Vec::new();
            self.running.retain_mut(|(index, task)| {
                let over = task.as_mut().poll(context).is_ready();
                if over {
                    done.push(*index);
                }
                !over
            });
            if done.is_empty() {
                return self.left == 0;
            }
            done.into_iter().for_each(|index| self.complete(index));
        }
    }

    fn start(&mut self) {
        while let Some(index) = self.startable.pop_front() {
            match task(self.mpi, &self.schedule.steps()[index].action, self.tag) {
                Some(task) => self.running.push((index, task)),
                None => self.complete(index),
            }
        }
        while let Some(index) = self.locals.front().copied().filter(|index| self.missing[*index] == 0) {
            self.locals.pop_front();
            if let Action::Local(local) = &self.schedule.steps()[index].action {
                // All ranks of a cluster execute equal operations in one order.
                let tag =
                    self.tag + Tag::from(fishplate_collectives::MAX_TAGS) + TAGS_OF_LOCAL * self.locals.len() as Tag;
                let (mpi, cluster, local) = (self.mpi.clone(), self.cluster.clone(), local.clone());
                self.running.push((index, Box::pin(async move { run_local(&mpi, cluster, &local, tag).await })));
            }
        }
    }

    fn complete(&mut self, index: usize) {
        self.left -= 1;
        for follower in std::mem::take(&mut self.followers[index]) {
            self.missing[follower] -= 1;
            let is_local = matches!(self.schedule.steps()[follower].action, Action::Local(_));
            if self.missing[follower] == 0 && !is_local {
                self.startable.push_back(follower);
            }
        }
    }
}

/// Parts of the time of a step.
fn task(mpi: &Mpi, action: &Action, tag: Tag) -> Option<Task> {
    let mpi = mpi.clone();
    match action {
        Action::Send { to, from, tag: number } => {
            let (to, bytes, tag) = (to.0 as u32, from.len as u64, tag + Tag::from(number.0));
            Some(Box::pin(async move { mpi.send(to, tag, bytes).await }))
        }
        Action::Receive { from, into, tag: number } => {
            let (from, bytes, tag) = (from.0 as u32, into.len as u64, tag + Tag::from(number.0));
            Some(Box::pin(async move { mpi.recv(from, tag, bytes).await }))
        }
        Action::Copy { .. } | Action::Reduce { .. } | Action::Local(_) => None,
    }
}

/// An operation among the ranks of one cluster, as the MPI library does it.
async fn run_local(mpi: &Mpi, cluster: Group, local: &Local, tag: Tag) {
    let rooted = |root: &LocalRank| cluster.rooted(root.0 as u32);
    match local {
        Local::Barrier => barrier(mpi, &cluster, tag).await,
        Local::Broadcast { root, data } => {
            broadcast(mpi, &rooted(root), Broadcast::Mpich, data.len as u64, tag).await;
        }
        Local::Reduce { root, from, .. } => reduce(mpi, &rooted(root), from.len as u64, tag).await,
        Local::ReduceScatter { lens, .. } => {
            let lens: Vec<u64> = lens.iter().map(|len| *len as u64).collect();
            irregular::reduce_scatter(mpi, &cluster, &lens, tag).await;
        }
        Local::Allgather { blocks } => irregular::allgather(mpi, &cluster, &lens(blocks), tag).await,
        Local::Gather { root, from, blocks } => {
            let blocks = blocks.as_ref().map(|blocks| from_root(lens(blocks), root));
            irregular::gather(mpi, &rooted(root), from.len as u64, blocks.as_deref(), tag).await;
        }
        Local::Scatter { root, blocks, into } => {
            let blocks = blocks.as_ref().map(|blocks| from_root(lens(blocks), root));
            irregular::scatter(mpi, &rooted(root), into.len as u64, blocks.as_deref(), tag).await;
        }
        Local::Alltoall { from, into } => {
            irregular::alltoall(mpi, &cluster, &lens(from), &lens(into), tag).await;
        }
    }
}

fn lens(slices: &[Slice]) -> Vec<u64> {
    slices.iter().map(|slice| slice.len as u64).collect()
}

/// Lengths by rank, counted from the root on.
fn from_root(mut lens: Vec<u64>, root: &LocalRank) -> Vec<u64> {
    lens.rotate_left(root.0);
    lens
}
