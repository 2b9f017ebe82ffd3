//! One benchmark at one size.

use std::rc::Rc;

use fishplate_collectives::ClusterMap;

use super::benchmark::{Benchmark, Unit};
use super::options::{Options, Outcome};
use super::timing::Measurements;
use super::{collective, exchange, files, one_sided, patterns};
use crate::mpi::program::{self, Mpi, Task};
use crate::testbed::Machine;

/// Runs one benchmark at one size.
///
/// # Errors
/// When the stack is unknown, the number of ranks does not fit, an operation has no schedule as asked for, a pattern
/// has no such neighbours, files cannot be accessed so, or ranks wait for ever.
pub fn run(machine: &Machine, benchmark: Benchmark, options: &Options) -> Result<Outcome, String> {
    Ok(sweep(machine, benchmark, std::slice::from_ref(options))?.remove(0))
}

/// Runs one benchmark several times in turn, as one program: its processes keep what they learn of the network.
///
/// # Errors
/// As [`run`].
pub fn sweep(machine: &Machine, benchmark: Benchmark, turns: &[Options]) -> Result<Vec<Outcome>, String> {
    machine.stack()?;
    let ranks = machine.placement.ranks();
    let (least, most) = benchmark.ranks();
    if ranks < least || ranks > most {
        return Err(format!(
            "{} needs {least} ranks{}, not {ranks}",
            benchmark.name(),
            if most > least { " or more" } else { "" }
        ));
    }
    if benchmark == Benchmark::Exchange {
        turns.iter().try_for_each(|options| options.pattern.neighbours.check(ranks))?;
    }
    let (map, seed) = (Rc::new(machine.placement.map()), machine.seed);
    turns.iter().try_for_each(|options| collective::plan(benchmark, options, &map, 0).map(|_| ()))?;
    let system = if benchmark.is_of_files() { Some(files::system(machine)?) } else { None };
    if system.is_some() {
        turns.iter().try_for_each(|options| files::check(benchmark, options, ranks))?;
    }
    let placement =
        system.as_ref().map_or(machine.placement.clone(), |system| machine.placement.serving(system.servers()));
    let world = Machine { placement, ..machine.clone() }.world()?;
    let turns: Rc<Vec<(Options, Measurements)>> =
        Rc::new(turns.iter().map(|options| (options.clone(), Measurements::default())).collect());
    let program = |mpi: Mpi| -> Task {
        let (turns, map, system) = (turns.clone(), map.clone(), system.clone());
        Box::pin(async move {
            if let Some(system) = system {
                return files::run(benchmark, &mpi, (&turns, seed), &system).await;
            }
            for (options, found) in turns.iter() {
                one(benchmark, &mpi, (options, seed, &map), found).await;
            }
        })
    };
    let mut world = program::run(world, program).map_err(|deadlock| format!("{}: {deadlock}", benchmark.name()))?;
    let (policies, events, end) = (world.rank(0).explain(), world.events(), world.now());
    let outcome = |(options, found): &(Options, Measurements)| {
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
        _ if benchmark.is_of_files() => files::together(parts),
        _ if options.aligned || benchmark.is_atomic() => last,
        _ if options.median => {
            let mut values: Vec<f64> = parts.iter().map(|(_, value)| *value).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
            0.5 * (values[low] + values[high])
        }
        _ => sum / parts.len() as f64,
    })
}

async fn one(
    benchmark: Benchmark,
    mpi: &Mpi,
    (options, seed, map): (&Options, u64, &ClusterMap),
    found: &Measurements,
) {
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
        FetchAndOp | CompareAndSwap => one_sided::atomic(benchmark, mpi, options, found).await,
        PutBandwidth | GetBandwidth | PutBibandwidth | GetBibandwidth => {
            one_sided::bandwidth(benchmark, mpi, options, found).await;
        }
        _ => collective::run(benchmark, mpi, options, map, found).await,
    }
}
