//! Measures everything, in turn and repeated.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::stacks::{self, DemoStack, FISHPLATE};
use super::{
    APPLICATION, Conditions, LATENCY_SIZE, RAILS_MBIT, RailAlone, Results, SCHEMA, Share, StackResults, rounds,
};
use crate::bench::conditions;
use crate::bench::execute::Executor;
use crate::bench::progress::Progress;
use crate::bench::sample::BenchLine;
use crate::counters::stats_file;
use crate::lab::{Lab, launch};
use crate::output::page::units;
use crate::statistics::Spread;
use crate::system::child_process::Signals;
use crate::testbed::rail_name;

/// How long one program may take. The slowest here needs a tenth of it.
const LIMIT: Duration = Duration::from_secs(60);

/// One kind of measurement: a benchmark program, or the application, with options.
struct Pass {
    program: &'static str,
    options: Vec<String>,
    /// Whether it shows how large messages are cut over the rails.
    large: bool,
}

/// How much to measure.
pub struct Plan {
    rounds: usize,
    stream_seconds: f64,
    passes: Vec<Pass>,
}

impl Plan {
    /// The whole demonstration, or one round of few sizes.
    pub fn new(quick: bool) -> Plan {
        let pass = |program, options: &str, large| Pass {
            program,
            options: options.split(' ').map(String::from).collect(),
            large,
        };
        let latency = format!("--sizes {LATENCY_SIZE} --seconds 0.4 --json");
        let application = pass(APPLICATION, "--class A --json", false);
        // Windows of 64 of the largest messages would take the slower stacks seconds each.
        if quick {
            let large = "--sizes 1M,4M --window 16 --warmup 1 --iterations 1 --json";
            let passes = vec![
                pass("latency", &latency, false),
                pass("bandwidth", "--sizes 64K --seconds 0.2 --json", false),
                pass("bandwidth", large, true),
                application,
            ];
            return Plan { rounds: 1, stream_seconds: 0.6, passes };
        }
        let passes = vec![
            pass("latency", &latency, false),
            pass("bandwidth", "--sizes 1K,4K,16K,64K,256K --seconds 0.25 --json", false),
            pass("bandwidth", "--sizes 1M,4M --window 16 --warmup 1 --seconds 0.4 --json", true),
            application,
        ];
        Plan { rounds: 3, stream_seconds: 1.0, passes }
    }

    /// Number of steps that progress counts.
    fn steps(&self, demo_stacks: usize) -> u64 {
        (self.rounds * (1 + demo_stacks)) as u64
    }
}

/// Where and how measurements run.
struct Bench<'a> {
    testbed: &'a Lab,
    signals: &'a Signals,
    programs: PathBuf,
    launch: Vec<(String, std::ffi::OsString)>,
    progress: Progress,
}

pub fn measure(testbed: &Lab, signals: &Signals, programs: &Path, plan: &Plan) -> Result<Results> {
    let demo_stacks = stacks::all(testbed.rails())?;
    let mut results = empty_results(testbed, &demo_stacks, plan)?;
    let bench = Bench {
        testbed,
        signals,
        programs: programs.to_path_buf(),
        launch: launch::environment(testbed)?,
        progress: Progress::start(plan.steps(demo_stacks.len())),
    };
    let mut counters = Vec::new();
    for round in 0..plan.rounds {
        bench.streams(&mut results, round, plan)?;
        for (demo_stack, stack) in demo_stacks.iter().zip(&mut results.stacks) {
            if stack.failure.is_none() {
                bench.turn(demo_stack, stack, round, plan, &mut counters)?;
            }
        }
    }
    bench.progress.finish();
    results.shares = stats_file::summarize(&counters)
        .rails
        .into_iter()
        .map(|r| Share { rail: r.name, bytes: r.bytes, share: r.share, retransmitted: r.retransmitted })
        .collect();
    Ok(results)
}

impl Bench<'_> {
    /// One turn of one stack. Its failure is a result; only an interruption ends the demonstration.
    fn turn(
        &self,
        demo_stack: &DemoStack,
        stack: &mut StackResults,
        round: usize,
        plan: &Plan,
        counters: &mut Vec<stats_file::Line>,
    ) -> Result<()> {
        let mut fastest: Option<(u64, f64)> = None;
        for pass in &plan.passes {
            self.report(round, plan, demo_stack.name, pass.program);
            let stats_file = self.testbed.folder().join("stats.jsonl");
            // It may not be there.
            let _ = fs::remove_file(&stats_file);
            let lines = match self.run(demo_stack, pass, &stats_file)? {
                Ok(lines) => lines,
                Err(failure) => {
                    self.report_result(round, plan, demo_stack.name, &format!("failed: {failure}"));
                    stack.failure = Some(failure);
                    return Ok(());
                }
            };
            if pass.large && demo_stack.name == FISHPLATE {
                counters.extend(stats_file::read(&stats_file, 0)?);
            }
            for line in lines {
                if let Some(version) = &line.mpi_library {
                    stack.version = version.split(", package").next().unwrap_or_default().trim().to_string();
                }
                match pass.program {
                    APPLICATION => stack.run_time.push(line.value),
                    "latency" => stack.latency.push(line.median()),
                    _ => {
                        stack.bandwidth.entry(line.size).or_default().push(line.value);
                        fastest = Some((line.size, line.value));
                    }
                }
            }
        }
        let result = fastest.map_or(String::new(), |(size, mbps)| format!("{mbps:.1} MB/s at {}", units::size(size)));
        self.report_result(round, plan, demo_stack.name, &result);
        Ok(())
    }

    /// Runs one program. The outer error ends the demonstration.
    fn run(&self, demo_stack: &DemoStack, pass: &Pass, stats: &Path) -> Result<Result<Vec<BenchLine>, String>> {
        let program = demo_stack.program(&self.programs, pass.program);
        let mut words = vec![program.to_string_lossy().into_owned()];
        words.extend(pass.options.iter().cloned());
        let invocation = demo_stack.invocation(&words)?;
        let line: Vec<_> = invocation.line.iter().map(Into::into).collect();
        let mut command = self.testbed.command(0, &line);
        invocation.prepare(&mut command);
        launch::apply(&mut command, self.launch.iter().cloned());
        command.env("FISHPLATE_STATS", stats);
        let executor = Executor { signals: self.signals, folder: self.testbed.folder().to_path_buf() };
        let mut parsed: Vec<BenchLine> = Vec::new();
        let mut read = |line: &str| {
            parsed.extend(BenchLine::parse(line));
            Ok(())
        };
        if let Err(failure) = executor.run(pass.program, command, LIMIT, &mut read)? {
            return Ok(Err(failure));
        }
        Ok(if parsed.is_empty() { Err(format!("{} printed no results", pass.program)) } else { Ok(parsed) })
    }

    /// Bandwidth of the rails by plain TCP, each alone and all concurrently.
    fn streams(&self, results: &mut Results, round: usize, plan: &Plan) -> Result<()> {
        let name = "plain TCP streams";
        self.report(round, plan, name, "sum of the rails");
        let rails: Vec<usize> = (0..self.testbed.rails()).collect();
        for rail in &rails {
            let rates = self.testbed.streams(&[*rail], plan.stream_seconds)?;
            results.rails[*rail].alone.extend(rates);
        }
        let sum: f64 = self.testbed.streams(&rails, plan.stream_seconds)?.iter().sum();
        results.sum.push(sum);
        self.report_result(round, plan, name, &format!("{sum:.1} MB/s over both rails"));
        Ok(())
    }

    fn report(&self, round: usize, plan: &Plan, name: &str, what: &str) {
        self.progress.show(&format!("round {} of {}: {name}, {what}", round + 1, plan.rounds));
    }

    fn report_result(&self, round: usize, plan: &Plan, name: &str, result: &str) {
        self.progress.done(&format!("round {} of {}: {name}: {result}", round + 1, plan.rounds));
    }
}

fn empty_results(testbed: &Lab, demo_stacks: &[DemoStack], plan: &Plan) -> Result<Results> {
    let stack = |demo_stack: &DemoStack| -> Result<StackResults> {
        Ok(StackResults {
            name: demo_stack.name.into(),
            rails: demo_stack.rails.into(),
            rates_given: demo_stack.rates_given,
            command: demo_stack.invocation(&["bandwidth".into()])?.shown(),
            ..StackResults::default()
        })
    };
    let rail = |(index, mbit): (usize, &u32)| RailAlone { name: rail_name(index), mbit: *mbit, alone: Vec::new() };
    Ok(Results {
        schema: SCHEMA.into(),
        conditions: conditions(testbed, plan)?,
        rails: RAILS_MBIT.iter().enumerate().map(rail).collect(),
        sum: Vec::new(),
        stacks: demo_stacks.iter().map(stack).collect::<Result<_>>()?,
        shares: Vec::new(),
    })
}

fn conditions(testbed: &Lab, plan: &Plan) -> Result<Conditions> {
    let machine = conditions::machine();
    let fact = |name: &str, value: String| (name.to_string(), value);
    let passes: Vec<String> = plan.passes.iter().map(|p| format!("{} {}", p.program, p.options.join(" "))).collect();
    Ok(Conditions {
        date: conditions::now(),
        facts: vec![
            fact("Hosts", format!("{} network namespaces on one machine, one rank each", testbed.hosts().len())),
            fact("Rails", "virtual Ethernet, MTU 1500, shaped by HTB in both directions, no added delay".into()),
            fact("Processor", format!("{}, {} cores", machine.cpu, machine.cores)),
            fact("Kernel", machine.kernel),
            fact("TCP", conditions::congestion_control()),
            fact("Fishplate", env!("CARGO_PKG_VERSION").into()),
            fact("Measured", format!("{}, the stacks in turn in each; {}", rounds(plan.rounds), passes.join("; "))),
        ],
        rounds: plan.rounds,
    })
}

/// Median of a stack's latency.
pub fn latency(stack: &StackResults) -> Option<Spread> {
    Spread::of(&stack.latency)
}
