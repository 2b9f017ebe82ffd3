//! `fishplate simulate TESTBED BENCHMARK`: the suite on a modelled machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Result, anyhow, bail, ensure};
use fishplate_collectives::{Algorithm, MAX_SEGMENTS, UNLIMITED_WINDOW};
use fishplate_sim::mpi::collectives::Broadcast;
use fishplate_sim::suite::{Benchmark, FileAccess, Options, Outcome, run as simulate};
use fishplate_sim::testbed::{Machine, SHIPPED};

use super::suite_options::{FileOptions, PatternOptions};
use crate::record::write::Writer;
use crate::record::{Line, Sample};
use crate::say;
use crate::simulation::{changed, record as simulated, sizes};

/// Bounds of the default number of iterations.
const MIN_ITERATIONS: u32 = 4;
const MAX_ITERATIONS: u32 = 200;
/// Between these bounds, all iterations together carry this number of bytes in one direction.
const BYTES: u64 = 256 << 20;
/// Widths of columns, as the benchmark programs have them.
const SIZE_WIDTH: usize = 10;
const VALUE_WIDTH: usize = 18;

/// A machine and what runs on it.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// A modelled machine instead of seeds: a name (--testbeds lists them) or a file
    #[arg(value_name = "TESTBED", requires = "benchmark")]
    pub testbed: Option<String>,

    /// A benchmark of the suite
    #[arg(value_name = "BENCHMARK")]
    benchmark: Option<String>,

    /// List the modelled machines that come with the program
    #[arg(long, exclusive = true)]
    testbeds: bool,

    /// Stack of the testbed [default: that of the testbed]
    #[arg(long, requires = "testbed", value_name = "NAME")]
    stack: Option<String>,

    /// Sizes and ranges: 1,64,1K,4M or 1:4M
    #[arg(long, requires = "testbed", value_name = "LIST")]
    sizes: Option<String>,

    /// Number of messages before an acknowledgement, or of operations before a flush [default: 64; atomic operations: 1]
    #[arg(long, requires = "testbed", value_name = "W")]
    window: Option<u32>,

    /// Iterations per size [default: 4; with randomness up to 200, fewer with long messages]
    #[arg(long, requires = "testbed", value_name = "N")]
    iterations: Option<u32>,

    /// Iterations of warm-up per size [default: half of --iterations]
    #[arg(long, requires = "testbed", value_name = "N")]
    warmup: Option<u32>,

    /// Number of ranks; io_*: number of clients, without the servers
    #[arg(long, requires = "testbed", value_name = "N", default_value_t = 2)]
    ranks: u32,

    /// Number of ranks on each node
    #[arg(long, requires = "testbed", value_name = "N", default_value_t = 1)]
    per_node: u32,

    /// Algorithm of a broadcast: mpich, binomial or scatter-allgather
    #[arg(long, requires = "testbed", value_name = "WORD", default_value = "mpich")]
    broadcast: String,

    #[command(flatten)]
    pattern: PatternOptions,

    #[command(flatten)]
    files: FileOptions,

    /// Algorithm over clusters for a collective operation: coordinators, shared or direct; coordinators:8 cuts a message
    /// into 8 segments, with direct:2 an alltoall sends at most 2 messages more than it has received
    #[arg(long, requires = "testbed", value_name = "WORD[:N]", conflicts_with = "broadcast")]
    algorithm: Option<String>,

    /// Give a parameter of the testbed another value: wan.delay_us=1000
    #[arg(long = "set", requires = "testbed", value_name = "PATH=VALUE")]
    set: Vec<String>,

    /// JSON lines instead of columns
    #[arg(long, requires = "testbed")]
    json: bool,

    /// Write a record; `fishplate report` makes a page of it
    #[arg(long, requires = "testbed", value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Args {
    /// Whether a modelled machine was asked for.
    pub fn wanted(&self) -> bool {
        self.testbed.is_some() || self.testbeds
    }
}

/// Runs the benchmark at each size.
pub fn run(args: &Args, seed: u64) -> Result<ExitCode> {
    if args.testbeds {
        return list();
    }
    let (Some(name), Some(benchmark)) = (&args.testbed, &args.benchmark) else {
        bail!("name a testbed and a benchmark")
    };
    let Some(benchmark) = Benchmark::of(benchmark) else {
        let names: Vec<&str> = Benchmark::ALL.iter().map(|(name, _)| *name).collect();
        bail!("there is no benchmark {benchmark}: there are {}", names.join(", "));
    };
    let testbed = Rc::new(changed(name, &args.set)?);
    let stack = args.stack.clone().unwrap_or_else(|| testbed.default_stack.clone());
    let about = testbed.stack(&stack).map_err(|error| anyhow!("{error}"))?.about.clone();
    ensure!(args.ranks >= 1 && args.per_node >= 1, "--ranks and --per-node are from 1 on");
    let machine = Machine::new(testbed.clone(), (args.ranks, args.per_node), seed).with_stack(&stack);
    let files = args.files.access();
    let sizes = sizes_of(args, benchmark, &files)?;
    if !args.json {
        header(benchmark, args.ranks, &format!("{}, stack {stack}: {about}", testbed.name));
    }
    let algorithm = args.algorithm.as_deref().map(algorithm).transpose()?;
    let varies = testbed.stack(&stack).map_err(|error| anyhow!("{error}"))?.costs().varies();
    let window = args.window.unwrap_or(benchmark.default_window());
    let options = Options {
        window,
        broadcast: broadcast(args)?,
        algorithm,
        pattern: args.pattern.pattern(),
        files,
        ..Options::default()
    };
    let mut samples = Vec::new();
    for size in sizes {
        let (iterations, warmup) = iterations(args, size * u64::from(window.max(1)), varies);
        let options = Options { size, iterations, warmup, ..options.clone() };
        let outcome = simulate(&machine, benchmark, &options).map_err(|error| anyhow!("{error}"))?;
        let sample =
            simulated::sample(benchmark, benchmark.name(), (&stack, &testbed.name), args.ranks, (size, outcome.value));
        print(args, benchmark, &sample, &outcome)?;
        samples.push(sample);
    }
    if let Some(file) = &args.record {
        write_record(file, &testbed.name, samples, seed)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_record(file: &Path, testbed: &str, samples: Vec<Sample>, seed: u64) -> Result<()> {
    let title = format!("{testbed}, simulated");
    let mut writer = Writer::create(file, &simulated::manifest(&title, &samples, seed))?;
    writer.append(&simulated::link(testbed))?;
    samples.into_iter().try_for_each(|sample| writer.append(&Line::Sample(sample)))
}

fn sizes_of(args: &Args, benchmark: Benchmark, files: &FileAccess) -> Result<Vec<u64>> {
    Ok(match &args.sizes {
        _ if benchmark == Benchmark::IoTile => {
            ensure!(args.sizes.is_none(), "io_tile has no --sizes: its tiles are as --tile and --element say");
            vec![files.tile_bytes()]
        }
        Some(_) if benchmark.is_atomic() => bail!("{} has no --sizes: its words have 8 bytes", benchmark.name()),
        Some(list) => sizes::parse(list)?,
        None => sizes::doubling(benchmark.default_sizes().0, benchmark.default_sizes().1),
    })
}

/// Prints the testbeds that come with the program.
fn list() -> Result<ExitCode> {
    for (name, _) in SHIPPED {
        let testbed = changed(name, &[])?;
        let stacks: Vec<&str> = testbed.stack.keys().map(String::as_str).collect();
        say!("{name}: {}\n    stacks: {}", testbed.about, stacks.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Iterations that count, and warm-up iterations before them. Randomness needs more of both: its effects vary, and take some
/// iterations to set in.
fn iterations(args: &Args, bytes: u64, varies: bool) -> (u32, u32) {
    let fitting = (BYTES / bytes.max(1)).clamp(MIN_ITERATIONS.into(), MAX_ITERATIONS.into()) as u32;
    let usual = if varies { fitting } else { MIN_ITERATIONS };
    let counted = args.iterations.unwrap_or(usual).max(1);
    (counted, args.warmup.unwrap_or(counted / 2))
}

fn broadcast(args: &Args) -> Result<Broadcast> {
    Ok(match args.broadcast.as_str() {
        "mpich" => Broadcast::Mpich,
        "binomial" => Broadcast::Binomial,
        "scatter-allgather" => Broadcast::ScatterAllgather,
        other => bail!("--broadcast {other}: it is mpich, binomial or scatter-allgather"),
    })
}

/// `coordinators:8`, `direct:2`.
fn algorithm(text: &str) -> Result<Algorithm> {
    if text == "direct" {
        return Ok(Algorithm::Direct { window: UNLIMITED_WINDOW });
    }
    let (word, number) = text.split_once(':').unwrap_or((text, "1"));
    let number = number.parse().ok().filter(|number| (1..=MAX_SEGMENTS).contains(number));
    let Some(number) = number else { bail!("--algorithm {text}: the number is from 1 to {MAX_SEGMENTS}") };
    Ok(match word {
        "coordinators" => Algorithm::Coordinators { segments: number },
        "shared" => Algorithm::Shared { segments: number },
        "direct" => Algorithm::Direct { window: number },
        other => bail!("--algorithm {other}: it is coordinators, shared or direct"),
    })
}

fn header(benchmark: Benchmark, ranks: u32, machine: &str) {
    let (metric, unit) = simulated::metric(benchmark);
    say!("# fishplate-bench {} {}, {ranks} ranks, simulated", benchmark.name(), env!("CARGO_PKG_VERSION"));
    say!("# {machine}");
    let title = format!("{}{} ({unit})", metric[..1].to_uppercase(), &metric[1..]);
    say!("{:<SIZE_WIDTH$}{title:>VALUE_WIDTH$}", "# Size");
}

fn print(args: &Args, benchmark: Benchmark, sample: &Sample, outcome: &Outcome) -> Result<()> {
    if args.json {
        say!("{}", serde_json::to_string(&Line::Sample(sample.clone()))?);
        return Ok(());
    }
    let size = sample.size_bytes.unwrap_or(0);
    say!("{size:<SIZE_WIDTH$}{:>VALUE_WIDTH$.2}", outcome.value);
    if matches!(benchmark, Benchmark::Nhop | Benchmark::DisplacedRing) {
        for (part, value) in &outcome.parts {
            say!("{:<SIZE_WIDTH$}{value:>VALUE_WIDTH$.2}", format!("#   {part}"));
        }
    }
    Ok(())
}
