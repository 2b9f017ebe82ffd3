//! One benchmark at one size.

use std::cell::RefCell;
use std::rc::Rc;

use fishplate_collectives::{Algorithm, ClusterMap};

use super::benchmark::{Benchmark, Unit};
use super::patterns::Pattern;
use super::{collective, exchange, one_sided, patterns};
use crate::models::time::Time;
use crate::mpi::collectives::Broadcast;
use crate::mpi::program::{self, Mpi, Task};
use crate::testbed::{self, Placement, Testbed};

/// Where a benchmark runs.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The testbed.
    pub testbed: Rc<Testbed>,
    /// The stack's name.
    pub stack: String,
    /// Ranks on nodes.
    pub placement: Placement,
    /// Seed of all that is random.
    pub seed: u64,
}

/// How a benchmark runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Message size in bytes.
    pub size: u64,
    /// Messages of a window.
    pub window: u32,
    /// Iterations that count.
    pub iterations: u32,
    /// Iterations before.
    pub warmup: u32,
    /// Broadcast algorithm.
    pub broadcast: Broadcast,
    /// Collective operations by a schedule that knows the clusters, instead of the library's own algorithms.
    pub algorithm: Option<Algorithm>,
    /// Before each collective operation all ranks are brought to the same time, instead of by a barrier, whose end
    /// differs by the delay of a long-distance link; the value is the time until the last rank is done, not the mean.
    pub aligned: bool,
    /// The barrier before a collective operation knows which ranks share a host, as MPICH's does.
    pub by_host: bool,
    /// The value is the median of the iterations, as programs tell it, not their mean.
    pub median: bool,
    /// Senders and receivers where a benchmark has them, instead of rank i and i + n/2.
    pub pairs: Option<Vec<(u32, u32)>>,
    /// What `exchange` and `overlap` compute, and with whom.
    pub pattern: Pattern,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            size: 8,
            window: 64,
            iterations: 4,
            warmup: 2,
            broadcast: Broadcast::Mpich,
            algorithm: None,
            aligned: false,
            by_host: false,
            median: false,
            pairs: None,
            pattern: Pattern::default(),
        }
    }
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The value; where there are several, their mean.
    pub value: f64,
    /// Values by peer, displacement or rank, where a benchmark has them.
    pub parts: Vec<(u64, f64)>,
    /// Policies at the end, as rank 0 explains them for the first peer.
    pub policies: String,
    /// Events of the simulation.
    pub events: u64,
    /// When it ended.
    pub end: Time,
}

/// When iterations began that count, and the last one ended.
#[derive(Default)]
pub(super) struct Course {
    times: Vec<Time>,
}

impl Course {
    /// An iteration ends, or the first begins.
    pub fn mark(&mut self, now: Time) {
        self.times.push(now);
    }

    /// How long one took, as the options ask.
    pub fn each(&self, options: &Options) -> Time {
        typical(self.times.windows(2).map(|pair| pair[1] - pair[0]).collect(), options)
    }
}

/// The mean of times, or their median.
pub(super) fn typical(mut times: Vec<Time>, options: &Options) -> Time {
    times.sort();
    let left_out = if options.median { times.len().saturating_sub(1) / 2 } else { 0 };
    let counted = &times[left_out..times.len() - left_out];
    Time(counted.iter().map(|time| time.0).sum::<u64>() / (counted.len() as u64).max(1))
}

/// What programs tell while they run: (what it belongs to, value).
pub(super) type Findings = Rc<RefCell<Vec<(u64, f64)>>>;

/// Runs one benchmark at one size.
///
/// # Errors
/// When the stack is unknown, the number of ranks does not fit, an operation has no schedule as asked for, a pattern has no
/// such neighbours, or ranks wait for ever.
pub fn run(machine: &Machine, benchmark: Benchmark, options: &Options) -> Result<Outcome, String> {
    Ok(sweep(machine, benchmark, std::slice::from_ref(options))?.remove(0))
}

/// Runs one benchmark several times in turn, as one program: what its processes learn of the network they keep.
///
/// # Errors
/// As [`run`].
pub fn sweep(machine: &Machine, benchmark: Benchmark, turns: &[Options]) -> Result<Vec<Outcome>, String> {
    let stack = machine.testbed.stack(&machine.stack)?;
    let ranks = machine.placement.ranks();
    let (least, most) = benchmark.ranks();
    if ranks < least || ranks > most {
        return Err(format!(
            "{} wants {least} ranks{}, not {ranks}",
            benchmark.name(),
            if most > least { " or more" } else { "" }
        ));
    }
    if benchmark == Benchmark::Exchange {
        turns.iter().try_for_each(|options| options.pattern.neighbours.check(ranks))?;
    }
    let (map, seed) = (Rc::new(machine.placement.map()), machine.seed);
    turns.iter().try_for_each(|options| collective::plan(benchmark, options, &map, 0).map(|_| ()))?;
    let world = testbed::world(&machine.testbed, stack, &machine.placement, machine.seed)?;
    let turns: Rc<Vec<(Options, Findings)>> =
        Rc::new(turns.iter().map(|options| (options.clone(), Findings::default())).collect());
    let program = |mpi: Mpi| -> Task {
        let (turns, map) = (turns.clone(), map.clone());
        Box::pin(async move {
            for (options, found) in turns.iter() {
                one(benchmark, &mpi, (options, seed, &map), found).await;
            }
        })
    };
    let mut world = program::run(world, ranks, stack.unawaited_bytes(), program)
        .map_err(|deadlock| format!("{}: ranks {:?} wait for ever", benchmark.name(), deadlock.ranks))?;
    let (policies, events, end) = (world.rank(0).explain(), world.events(), world.now());
    let outcome = |(options, found): &(Options, Findings)| {
        let parts = found.take();
        let value = value(benchmark, options, &parts)?;
        Ok(Outcome { value, parts, policies: policies.clone(), events, end })
    };
    turns.iter().map(outcome).collect()
}

/// The value of all that was found.
fn value(benchmark: Benchmark, options: &Options, parts: &[(u64, f64)]) -> Result<f64, String> {
    if parts.is_empty() {
        return Err(format!("{} found nothing", benchmark.name()));
    }
    let sum: f64 = parts.iter().map(|(_, value)| value).sum();
    let last = parts.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    Ok(match benchmark.unit() {
        Unit::Messages => sum,
        _ if benchmark == Benchmark::Stream => sum,
        _ if options.aligned => last,
        _ if options.median => {
            let mut values: Vec<f64> = parts.iter().map(|(_, value)| *value).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
            0.5 * (values[low] + values[high])
        }
        _ => sum / parts.len() as f64,
    })
}

async fn one(benchmark: Benchmark, mpi: &Mpi, (options, seed, map): (&Options, u64, &ClusterMap), found: &Findings) {
    use Benchmark::*;
    match benchmark {
        Latency => exchange::latency(mpi, options, found).await,
        Bandwidth => exchange::bandwidth(mpi, options, false, found).await,
        Bibandwidth => exchange::bandwidth(mpi, options, true, found).await,
        MessageRate => exchange::message_rate(mpi, options, found).await,
        Stream => exchange::stream(mpi, options, found).await,
        Exchange => patterns::exchange(mpi, options, seed, found).await,
        Overlap => patterns::overlap(mpi, options, found).await,
        Nhop => exchange::nhop(mpi, options, found).await,
        DisplacedRing => exchange::displaced_ring(mpi, options, found).await,
        PutLatency | GetLatency | AccumulateLatency => one_sided::latency(benchmark, mpi, options, found).await,
        PutBandwidth | GetBandwidth | PutBibandwidth | GetBibandwidth => {
            one_sided::bandwidth(benchmark, mpi, options, found).await;
        }
        _ => collective::run(benchmark, mpi, options, map, found).await,
    }
}
