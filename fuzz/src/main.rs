//! Feeds a target with seeded inputs, and sees to it that none leaves memory behind. See `fuzz/README.md`.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use fishplate_fuzz::{TARGETS, Target, inputs};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory that one input may take while it runs, in bytes. An engine that keeps all that it grants (64 KiB in these
/// tests), with the tables of its channel, takes a tenth of it.
const MAX_AT_ONCE: usize = 4 << 20;
/// In shorter runs rare ends may be missing.
const EXPECT_ALL_ENDS_AFTER: u64 = 20_000;

/// Feeds a target with seeded inputs; fails on a panic, on memory that is left behind, and on too much of it at once.
#[derive(Parser)]
#[command(name = "fishplate-fuzz")]
struct Args {
    /// checksums, decoder, engine, handshake, matching, ofi or shared-memory
    target: String,

    /// Files to feed instead: inputs that were found before
    files: Vec<PathBuf>,

    /// How many inputs
    #[arg(long, default_value_t = 100_000)]
    runs: u64,

    /// What makes them
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Number of the first input
    #[arg(long, default_value_t = 0)]
    first: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(target) = TARGETS.iter().find(|target| target.name == args.target) else {
        eprintln!("fishplate-fuzz: there is no target {}", args.target);
        return ExitCode::FAILURE;
    };
    if args.files.is_empty() { feed(target, &args) } else { repeat(target, &args.files) }
}

fn feed(target: &Target, args: &Args) -> ExitCode {
    let examples = inputs::examples(target.name);
    let started = Instant::now();
    let mut ends: BTreeMap<&str, u64> = target.ends.iter().map(|end| (*end, 0)).collect();
    let mut most = 0;
    for run in args.first..args.first + args.runs {
        let input = inputs::input(args.seed, run, &examples);
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let end = std::panic::catch_unwind(|| (target.run)(&input));
        let Ok(end) = end else { return found(target, args, run, "it panics") };
        if MEMORY.current_usage() > before {
            return found(target, args, run, "it leaves memory behind");
        }
        most = most.max(MEMORY.peak_usage().saturating_sub(before));
        if most > MAX_AT_ONCE {
            return found(target, args, run, "it takes too much memory");
        }
        *ends.entry(end).or_default() += 1;
    }
    println!(
        "{}: {} inputs of seed {} in {:.1} s; at most {} bytes at once, none left behind",
        target.name,
        args.runs,
        args.seed,
        started.elapsed().as_secs_f64(),
        most
    );
    ends.iter().for_each(|(end, count)| println!("{count:>12}  {end}"));
    let missing = ends.values().any(|count| *count == 0) && args.runs >= EXPECT_ALL_ENDS_AFTER;
    if missing {
        eprintln!("fishplate-fuzz: some ends were never seen: the inputs do not get far enough");
    }
    if missing { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn found(target: &Target, args: &Args, run: u64, what: &str) -> ExitCode {
    let (name, seed) = (target.name, args.seed);
    eprintln!("fishplate-fuzz: {what}. Again:");
    eprintln!("cargo run --release -p fishplate-fuzz -- {name} --seed {seed} --first {run} --runs 1");
    ExitCode::FAILURE
}

fn repeat(target: &Target, files: &[PathBuf]) -> ExitCode {
    for file in files {
        match fs::read(file) {
            Ok(bytes) => println!("{}: {}", file.display(), (target.run)(&bytes)),
            Err(error) => {
                eprintln!("fishplate-fuzz: cannot read {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
