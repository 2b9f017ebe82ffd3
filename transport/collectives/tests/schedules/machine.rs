//! Runs the schedules of all ranks in an order that a seed decides.
//!
//! A message is taken when it is sent or when it is received, as it pleases; a collective operation inside a cluster
//! reads what it needs when all have called it, and writes then; until then its results cannot be read. Two steps that
//! are under way at once must not touch the same elements, unless both only read.

use std::collections::BTreeMap;

use fishplate_collectives::{Action, ClusterMap, Local, Rank, Schedule, Slice, Tag};

use crate::local;
use crate::memory::{Memory, Operator, Value, poisoned, touched};

/// What crossed between clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub elements: usize,
    pub messages: usize,
    /// Most crossings that had to follow each other.
    pub crossings: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Active,
    Complete,
}

/// A message, by its ends and its tag.
type Key = (Rank, Rank, Tag);

struct Machine<'a> {
    map: &'a ClusterMap,
    schedules: &'a [Schedule],
    operator: Operator,
    memories: Vec<Memory>,
    /// The collective operations inside the clusters, in order.
    locals: Vec<Vec<usize>>,
    states: Vec<Vec<State>>,
    /// Crossings that each step waited for.
    depths: Vec<Vec<usize>>,
    /// Messages taken from their senders early, with their depths.
    taken: BTreeMap<Key, (Vec<Value>, usize)>,
    traffic: Traffic,
    random: fastrand::Rng,
    /// Whether all that can start does before anything ends.
    is_crowded: bool,
}

/// Runs all schedules to the end, and returns the buffers. Panics if they are wrong, or deadlock.
pub fn run(
    map: &ClusterMap,
    schedules: &[Schedule],
    memories: Vec<Memory>,
    operator: Operator,
    seed: u64,
) -> (Vec<Memory>, Traffic) {
    let counts = || schedules.iter().map(|schedule| schedule.steps().len());
    let mut machine = Machine {
        map,
        schedules,
        operator,
        memories,
        locals: schedules.iter().map(locals).collect(),
        states: counts().map(|count| vec![State::Waiting; count]).collect(),
        depths: counts().map(|count| vec![0; count]).collect(),
        taken: BTreeMap::new(),
        traffic: Traffic::default(),
        random: fastrand::Rng::with_seed(seed),
        is_crowded: seed.is_multiple_of(2),
    };
    for (memory, schedule) in machine.memories.iter_mut().zip(schedules) {
        memory.temporary = vec![None; schedule.temporary_len()];
    }
    while machine.advance() {}
    let is_done = machine.states.iter().flatten().all(|state| *state == State::Complete);
    assert!(is_done, "all wait for each other: {:?} of {schedules:?}", machine.states);
    assert!(machine.taken.is_empty(), "messages that nobody receives");
    (machine.memories, machine.traffic)
}

fn locals(schedule: &Schedule) -> Vec<usize> {
    let steps = schedule.steps().iter().enumerate();
    steps.filter(|(_, step)| matches!(step.action, Action::Local(_))).map(|(index, _)| index).collect()
}

impl Machine<'_> {
    /// Starts or ends one step; nothing when none can be.
    fn advance(&mut self) -> bool {
        let mut starts = Vec::new();
        let mut ends = Vec::new();
        for rank in 0..self.schedules.len() {
            for step in 0..self.states[rank].len() {
                match self.states[rank][step] {
                    State::Waiting if self.can_start(rank, step) => starts.push((rank, step)),
                    State::Active if self.can_end(rank, step) => ends.push((rank, step)),
                    _ => {}
                }
            }
        }
        let is_start = !starts.is_empty() && (ends.is_empty() || self.is_crowded || self.random.bool());
        let choices = if is_start { starts } else { ends };
        if choices.is_empty() {
            return false;
        }
        let (rank, step) = choices[self.random.usize(..choices.len())];
        if is_start {
            self.start(rank, step)
        } else {
            self.end(rank, step)
        }
        true
    }

    fn action(&self, rank: usize, step: usize) -> &Action {
        &self.schedules[rank].steps()[step].action
    }

    fn can_start(&self, rank: usize, step: usize) -> bool {
        let steps = self.schedules[rank].steps();
        assert!(steps[step].after.iter().all(|before| before.0 < step), "steps come after earlier ones");
        let is_turn = !matches!(steps[step].action, Action::Local(_))
            || self.locals[rank].iter().all(|other| *other >= step || self.states[rank][*other] != State::Waiting);
        is_turn && steps[step].after.iter().all(|before| self.states[rank][before.0] == State::Complete)
    }

    fn start(&mut self, rank: usize, step: usize) {
        let me = self.map.local(Rank(rank)).0;
        let action = self.action(rank, step).clone();
        self.check_alone(rank, &action, me);
        for slice in poisoned(&action, me) {
            self.memories[rank].poison(slice);
        }
        self.states[rank][step] = State::Active;
        let before = &self.schedules[rank].steps()[step].after;
        self.depths[rank][step] = before.iter().map(|before| self.depths[rank][before.0]).max().unwrap_or(0);
        if let Action::Send { to, from, tag } = action
            && self.random.bool()
        {
            self.take((Rank(rank), to, tag), self.memories[rank].get(from), self.depths[rank][step]);
            self.states[rank][step] = State::Complete;
        }
    }

    fn check_alone(&self, rank: usize, action: &Action, me: usize) {
        let (reads, writes) = touched(action, me);
        let active = (0..self.states[rank].len()).filter(|step| self.states[rank][*step] == State::Active);
        for step in active {
            let (their_reads, their_writes) = touched(self.action(rank, step), me);
            let meets = |ours: &[Slice], theirs: &[Slice]| {
                ours.iter().any(|one| theirs.iter().any(|other| one.overlaps(*other)))
            };
            let collides =
                meets(&writes, &their_reads) || meets(&writes, &their_writes) || meets(&reads, &their_writes);
            assert!(!collides, "rank {rank}: {action:?} while {:?}", self.action(rank, step));
        }
    }

    fn take(&mut self, key: Key, values: Vec<Value>, depth: usize) {
        let is_crossing = self.map.cluster_of(key.0) != self.map.cluster_of(key.1);
        let depth = depth + usize::from(is_crossing);
        if is_crossing {
            self.traffic.elements += values.len();
            self.traffic.messages += 1;
            self.traffic.crossings = self.traffic.crossings.max(depth);
        }
        assert!(self.taken.insert(key, (values, depth)).is_none(), "two messages look the same: {key:?}");
    }

    /// Whether a step that has started can be complete.
    fn can_end(&self, rank: usize, step: usize) -> bool {
        match self.action(rank, step) {
            // Complete when received.
            Action::Send { .. } => false,
            Action::Receive { from, tag, .. } => {
                self.taken.contains_key(&(*from, Rank(rank), *tag)) || self.sender(*from, Rank(rank), *tag).is_some()
            }
            Action::Copy { .. } | Action::Reduce { .. } => true,
            Action::Local(_) => self.calls(rank, step).is_some(),
        }
    }

    /// The step of a sender that has started.
    fn sender(&self, from: Rank, to: Rank, tag: Tag) -> Option<usize> {
        (0..self.states[from.0].len()).find(|step| {
            let is_it =
                matches!(self.action(from.0, *step), Action::Send { to: t, tag: g, .. } if (*t, *g) == (to, tag));
            is_it && self.states[from.0][*step] == State::Active
        })
    }

    /// The steps of all ranks of a cluster that are the same collective operation, once all have started.
    fn calls(&self, rank: usize, step: usize) -> Option<Vec<(usize, usize)>> {
        let number = self.locals[rank].iter().position(|other| *other == step).unwrap();
        let members = self.map.members(self.map.cluster_of(Rank(rank)));
        let call = |member: &Rank| {
            let step = *self.locals[member.0].get(number)?;
            (self.states[member.0][step] != State::Waiting).then_some((member.0, step))
        };
        members.iter().map(call).collect()
    }

    fn end(&mut self, rank: usize, step: usize) {
        match self.action(rank, step).clone() {
            Action::Send { .. } => unreachable!(),
            Action::Receive { from, into, tag } => self.deliver(rank, step, from, into, tag),
            Action::Copy { from, into } => {
                let values = self.memories[rank].get(from);
                self.memories[rank].put(into, &values);
            }
            Action::Reduce { from, into } => {
                let (left, right) = (self.memories[rank].get(from), self.memories[rank].get(into));
                let both = left.into_iter().zip(right);
                let result: Vec<Value> = both.map(|(left, right)| self.operator.apply(left, right)).collect();
                self.memories[rank].put(into, &result);
            }
            Action::Local(_) => self.collect(rank, step),
        }
        self.states[rank][step] = State::Complete;
    }

    fn deliver(&mut self, rank: usize, step: usize, from: Rank, into: Slice, tag: Tag) {
        let key = (from, Rank(rank), tag);
        if !self.taken.contains_key(&key) {
            let sender = self.sender(from, Rank(rank), tag).unwrap();
            let Action::Send { from: source, .. } = self.action(from.0, sender) else { unreachable!() };
            self.take(key, self.memories[from.0].get(*source), self.depths[from.0][sender]);
            self.states[from.0][sender] = State::Complete;
        }
        let (values, depth) = self.taken.remove(&key).unwrap();
        self.memories[rank].put(into, &values);
        self.depths[rank][step] = self.depths[rank][step].max(depth);
    }

    fn collect(&mut self, rank: usize, step: usize) {
        let calls = self.calls(rank, step).unwrap();
        let actions: Vec<Local> = calls
            .iter()
            .map(|(rank, step)| match self.action(*rank, *step) {
                Action::Local(local) => local.clone(),
                _ => unreachable!(),
            })
            .collect();
        let memories: Vec<&Memory> = calls.iter().map(|(rank, _)| &self.memories[*rank]).collect();
        let written = local::carried_out(&actions, &memories, self.operator);
        let depth = calls.iter().map(|(rank, step)| self.depths[*rank][*step]).max().unwrap();
        for ((rank, step), written) in calls.into_iter().zip(written) {
            for (slice, values) in written {
                self.memories[rank].put(slice, &values);
            }
            self.depths[rank][step] = depth;
            self.states[rank][step] = State::Complete;
        }
    }
}
