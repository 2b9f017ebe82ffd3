//! A program run on networks, and on changed ones, on all processors.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, anyhow};
use fishplate_sim::replay::{self, Computation};
use fishplate_sim::testbed::{Machine, Parameter, Placement, Testbed};

use super::limits::Limits;
use super::networks::Network;
use super::page;
use super::prediction::{Change, Detail, Prediction};
use super::source::Source;

/// Something to be simulated. (A machine itself cannot be handed to a thread.)
struct Job {
    testbed: Testbed,
    stack: String,
    placement: Placement,
    computation: Computation,
    is_detailed: bool,
}

/// Result, in detail if requested.
type Simulated = (replay::Outcome, Option<Box<Detail>>);

/// Question for each network.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// How long ranks compute.
    pub computation: Computation,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Hypothetical changes to be evaluated too.
    pub changes: &'a [Change],
    /// With what a page shows.
    pub is_detailed: bool,
}

/// Predicts the program for all networks.
///
/// # Errors
/// When ranks wait for ever.
pub fn all(source: &Source, networks: &[Network], question: Question<'_>) -> Result<Vec<Prediction>> {
    let asked: Vec<Change> = std::iter::once(Change::None).chain(question.changes.iter().copied()).collect();
    let jobs: Vec<Job> =
        networks.iter().flat_map(|network| asked.iter().map(|change| job(network, *change, question))).collect();
    let mut outcomes = simulate(source, &jobs, question.seed).into_iter();
    let mut predictions = Vec::new();
    for network in networks {
        let problem = |error: String| anyhow!("{}: {error}", network.name);
        let own = outcomes.by_ref().take(asked.len()).map(|outcome| outcome.map_err(problem));
        predictions.push(prediction(network, question.changes, own.collect::<Result<Vec<_>>>()?));
    }
    Ok(predictions)
}

fn job(network: &Network, change: Change, question: Question<'_>) -> Job {
    let computation = question.computation;
    let mut testbed = (*network.testbed).clone();
    apply(change, &mut testbed);
    let faster = if change == Change::Computation { 0.5 } else { 1.0 };
    let computation = Computation { scale: computation.scale * faster, ..computation };
    let is_detailed = question.is_detailed && change == Change::None;
    let (stack, placement) = (network.stack.clone(), network.placement.clone());
    Job { testbed, stack, placement, computation, is_detailed }
}

/// Evaluates all networks, with one thread per processor. The results do not depend on the number of threads.
fn simulate(source: &Source, jobs: &[Job], seed: u64) -> Vec<Result<Simulated, String>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Err(String::new()); jobs.len()]);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return };
            let outcome = job.run(source, seed);
            outcomes.lock().unwrap_or_else(PoisonError::into_inner)[at] = outcome;
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    fn run(&self, source: &Source, seed: u64) -> Result<Simulated, String> {
        let (testbed, computation) = (Rc::new(self.testbed.clone()), self.computation);
        let machine = Machine { testbed, stack: self.stack.clone(), placement: self.placement.clone(), seed };
        match source {
            Source::Trace(trace) if self.is_detailed => {
                let (outcome, calls) = replay::run_with_calls(&machine, trace, computation)?;
                let detail = page::detail(trace, &machine, &outcome, &calls);
                Ok((outcome, Some(Box::new(detail))))
            }
            _ => Ok((source.run(&machine, computation)?, None)),
        }
    }
}

/// Of the network as it is, then with each change.
fn prediction(network: &Network, changes: &[Change], mut outcomes: Vec<Simulated>) -> Prediction {
    let seconds = |time: fishplate_sim::models::time::Time| time.as_ns() / 1e9;
    let (plain, detail) = outcomes.remove(0);
    let computed: f64 = plain.ranks.iter().map(|rank| seconds(rank.computed)).sum();
    let computed_s = computed / plain.ranks.len().max(1) as f64;
    let changed = changes.iter().zip(outcomes).map(|(change, (outcome, _))| (*change, seconds(outcome.run)));
    Prediction {
        network: network.name.clone(),
        stack: network.stack.clone(),
        run_s: seconds(plain.run),
        computed_s,
        communication_s: seconds(plain.communication()),
        limits: Limits::of(plain.path.spent, computed_s),
        path_messages: plain.path.messages,
        changed_s: changed.collect(),
        calls: plain.calls,
        events: plain.events,
        detail,
    }
}

fn apply(change: Change, testbed: &mut Testbed) {
    let (factor, parameters) = match change {
        Change::None | Change::Computation => return,
        Change::Bandwidth => (2.0, rates(testbed)),
        Change::Latency => (0.5, latencies(testbed)),
        Change::Software => (0.5, software(testbed)),
    };
    parameters.into_iter().for_each(|parameter| parameter.value *= factor);
}

fn rates(testbed: &mut Testbed) -> Vec<&mut Parameter> {
    let mut all: Vec<&mut Parameter> = testbed.wan.iter_mut().map(|wan| &mut wan.mbit).collect();
    for rail in &mut testbed.rail {
        all.extend(rail.emulated.iter_mut().map(|emulated| &mut emulated.mbit));
        all.extend(rail.link.iter_mut().map(|link| &mut link.mbit));
        all.extend(rail.bus.iter_mut().flat_map(|bus| [&mut bus.read_mb_s, &mut bus.write_mb_s]));
    }
    all
}

fn latencies(testbed: &mut Testbed) -> Vec<&mut Parameter> {
    let mut all: Vec<&mut Parameter> = testbed.wan.iter_mut().map(|wan| &mut wan.delay_us).collect();
    for rail in &mut testbed.rail {
        let emulated = rail.emulated.iter_mut();
        all.extend(emulated.flat_map(|model| [&mut model.delay_us, &mut model.late_us, &mut model.timer_us]));
        all.extend(rail.link.iter_mut().map(|link| &mut link.cable_ns));
        all.extend(rail.switch.iter_mut().map(|switch| &mut switch.latency_ns));
        all.extend(rail.bus.iter_mut().map(|bus| &mut bus.latency_ns));
        let adapter = rail.adapter.iter_mut();
        all.extend(adapter.flat_map(|model| [&mut model.send_message_ns, &mut model.receive_message_ns]));
    }
    all
}

fn software(testbed: &mut Testbed) -> Vec<&mut Parameter> {
    let mut all = Vec::new();
    for stack in testbed.stack.values_mut() {
        all.extend([&mut stack.call_ns, &mut stack.control_ns, &mut stack.register_ns]);
        all.extend([&mut stack.eager_send_ns, &mut stack.eager_receive_ns]);
        all.extend([&mut stack.rdma_send_ns, &mut stack.rdma_receive_ns]);
        let some = [&mut stack.transmit_ns, &mut stack.fetch_ns, &mut stack.synchronise_ns, &mut stack.read_ns];
        all.extend(some.into_iter().flatten());
    }
    for transport in testbed.transport.values_mut() {
        let some = [&mut transport.message_ns, &mut transport.send_packet_ns, &mut transport.receive_packet_ns];
        all.extend(some.into_iter().flatten());
    }
    all
}
