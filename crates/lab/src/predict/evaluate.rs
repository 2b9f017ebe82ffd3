//! A program run on networks, and on changed ones, on all processors.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, anyhow};
use fishplate_sim::replay::{self, Computation};
use fishplate_sim::suite::Machine;
use fishplate_sim::testbed::{Placement, Testbed};

use super::networks::Network;
use super::source::Source;

/// What is changed of a network or a program, to see what that brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// Twice the rate of all links.
    Bandwidth,
    /// Half the latency of links, switches, adapters, buses and timers.
    Latency,
    /// Half the time of the library and the kernel for a message.
    Software,
    /// Half the time of computation.
    Computation,
}

impl Change {
    /// Those that something is changed by.
    pub const ALL: [Change; 4] = [Change::Bandwidth, Change::Latency, Change::Software, Change::Computation];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Change::None => "as it is",
            Change::Bandwidth => "twice the bandwidth",
            Change::Latency => "half the latency",
            Change::Software => "half the software",
            Change::Computation => "faster processors (x2)",
        }
    }

    fn apply(self, testbed: &mut Testbed) {
        match self {
            Change::None | Change::Computation => {}
            Change::Bandwidth => scale_bandwidth(testbed),
            Change::Latency => scale_latency(testbed),
            Change::Software => scale_software(testbed),
        }
    }
}

/// How long a program takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The network.
    pub network: String,
    /// Its stack.
    pub stack: String,
    /// Until the last rank has ended, in seconds.
    pub run_s: f64,
    /// Time that ranks compute, the mean, in seconds.
    pub computed_s: f64,
    /// Time in MPI, the mean, in seconds.
    pub communication_s: f64,
    /// How long the program takes with one thing changed, in seconds.
    pub changed_s: Vec<(Change, f64)>,
    /// Calls that were replayed.
    pub calls: u64,
    /// Events of the simulation.
    pub events: u64,
}

/// Something to be simulated. (A machine itself cannot be handed to a thread.)
struct Job {
    testbed: Testbed,
    stack: String,
    placement: Placement,
    computation: Computation,
}

/// Predicts the program for all networks; `changes`: also with what is changed.
///
/// # Errors
/// When ranks wait for ever.
pub fn all(
    source: &Source,
    networks: &[Network],
    (computation, seed): (Computation, u64),
    changes: &[Change],
) -> Result<Vec<Prediction>> {
    let asked: Vec<Change> = std::iter::once(Change::None).chain(changes.iter().copied()).collect();
    let jobs: Vec<Job> =
        networks.iter().flat_map(|network| asked.iter().map(|change| job(network, *change, computation))).collect();
    let outcomes = simulate(source, &jobs, seed);
    let mut predictions = Vec::new();
    for (network, outcomes) in networks.iter().zip(outcomes.chunks(asked.len())) {
        let problem = |error: &String| anyhow!("{}: {error}", network.name);
        let outcomes = outcomes.iter().map(|outcome| outcome.as_ref().map_err(problem)).collect::<Result<Vec<_>>>()?;
        predictions.push(prediction(network, &asked, &outcomes));
    }
    Ok(predictions)
}

fn job(network: &Network, change: Change, computation: Computation) -> Job {
    let mut testbed = (*network.testbed).clone();
    change.apply(&mut testbed);
    let faster = if change == Change::Computation { 0.5 } else { 1.0 };
    let computation = Computation { scale: computation.scale * faster, ..computation };
    Job { testbed, stack: network.stack.clone(), placement: network.placement.clone(), computation }
}

/// All of them, on as many threads as there are processors. What comes out does not depend on these.
fn simulate(source: &Source, jobs: &[Job], seed: u64) -> Vec<Result<replay::Outcome, String>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Err(String::new()); jobs.len()]);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(Job { testbed, stack, placement, computation }) = jobs.get(at) else { return };
            let testbed = Rc::new(testbed.clone());
            let machine = Machine { testbed, stack: stack.clone(), placement: placement.clone(), seed };
            let outcome = source.run(&machine, *computation);
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

fn prediction(network: &Network, asked: &[Change], outcomes: &[&replay::Outcome]) -> Prediction {
    let seconds = |time: fishplate_sim::models::time::Time| time.as_ns() / 1e9;
    let plain = outcomes[0];
    let computed: f64 = plain.ranks.iter().map(|rank| seconds(rank.computed)).sum();
    let changed = asked.iter().zip(outcomes).skip(1).map(|(change, outcome)| (*change, seconds(outcome.run)));
    Prediction {
        network: network.name.clone(),
        stack: network.stack.clone(),
        run_s: seconds(plain.run),
        computed_s: computed / plain.ranks.len().max(1) as f64,
        communication_s: seconds(plain.communication()),
        changed_s: changed.collect(),
        calls: plain.calls,
        events: plain.events,
    }
}

fn scale_bandwidth(testbed: &mut Testbed) {
    for rail in &mut testbed.rail {
        if let Some(emulated) = &mut rail.emulated {
            emulated.mbit.value *= 2.0;
        }
        if let Some(link) = &mut rail.link {
            link.mbit.value *= 2.0;
        }
        if let Some(bus) = &mut rail.bus {
            bus.read_mb_s.value *= 2.0;
            bus.write_mb_s.value *= 2.0;
        }
    }
    if let Some(wan) = &mut testbed.wan {
        wan.mbit.value *= 2.0;
    }
}

fn scale_latency(testbed: &mut Testbed) {
    for rail in &mut testbed.rail {
        if let Some(emulated) = &mut rail.emulated {
            for parameter in [&mut emulated.delay_us, &mut emulated.late_us, &mut emulated.timer_us] {
                parameter.value /= 2.0;
            }
        }
        if let Some(link) = &mut rail.link {
            link.cable_ns.value /= 2.0;
        }
        if let Some(switch) = &mut rail.switch {
            switch.latency_ns.value /= 2.0;
        }
        if let Some(bus) = &mut rail.bus {
            bus.latency_ns.value /= 2.0;
        }
        if let Some(adapter) = &mut rail.adapter {
            adapter.send_message_ns.value /= 2.0;
            adapter.receive_message_ns.value /= 2.0;
        }
    }
    if let Some(wan) = &mut testbed.wan {
        wan.delay_us.value /= 2.0;
    }
}

fn scale_software(testbed: &mut Testbed) {
    for stack in testbed.stack.values_mut() {
        let always = [
            &mut stack.call_ns,
            &mut stack.eager_send_ns,
            &mut stack.eager_receive_ns,
            &mut stack.control_ns,
            &mut stack.rdma_send_ns,
            &mut stack.rdma_receive_ns,
            &mut stack.register_ns,
        ];
        let some = [&mut stack.transmit_ns, &mut stack.fetch_ns, &mut stack.synchronise_ns, &mut stack.read_ns];
        let some = some.into_iter().filter_map(Option::as_mut);
        always.into_iter().chain(some).for_each(|parameter| parameter.value /= 2.0);
    }
    for transport in testbed.transport.values_mut() {
        let some = [&mut transport.message_ns, &mut transport.send_packet_ns, &mut transport.receive_packet_ns];
        some.into_iter().filter_map(Option::as_mut).for_each(|parameter| parameter.value /= 2.0);
    }
}
