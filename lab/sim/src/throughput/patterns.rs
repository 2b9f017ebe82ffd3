//! Exchanges both ways at once, as programs do them: two ranks compute, then each sends one message to the other.

use super::{Table, row};
use crate::models::time::Time;
use crate::suite::{Benchmark, Neighbourhood, Options, Pattern, run};
use crate::testbed::{Description, Machine};

/// Rates of the rails, in Mbit/s.
const RAILS: [&[f64]; 3] = [&[1000.0], &[1000.0, 250.0], &[1000.0, 1000.0]];
/// Of the message that goes each way.
const SIZES: [u64; 4] = [32 << 10, 128 << 10, 512 << 10, 2 << 20];
/// Computations, in milliseconds.
const COMPUTATIONS_MS: [u64; 2] = [0, 1];
/// Two ranks stay in a pattern that depends on chance: the value is the mean over some seeds,
const SEEDS: std::ops::Range<u64> = 1..4;
/// of exchanges after this number of
const WARMUP: u32 = 60;
/// of which this many count.
const ITERATIONS: u32 = 120;

/// Lines for each set of rails and size.
pub(super) fn table() -> Table {
    let titles = COMPUTATIONS_MS.iter().map(|ms| format!("compute_{ms}ms"));
    let mut rows = vec![row(["rails", "bytes"].map(String::from), titles)];
    for mbit in RAILS {
        let rails = mbit.iter().map(|mbit| format!("{mbit}")).collect::<Vec<_>>().join("+");
        for size in SIZES {
            let cells = COMPUTATIONS_MS.iter().map(|ms| percent(mbit, size, *ms).unwrap_or_else(|error| error));
            rows.push(row([rails.clone(), size.to_string()], cells));
        }
    }
    let about = "# Exchange of a message each way, after a computation, emulated rails of 1000 Mbit/s and others: what\n\
                 # goes one way over the time of the exchange, in percent of the sum of all rails' rates\n";
    Table { about, widths: &[14, 8, 12], rows }
}

fn percent(mbit: &[f64], size: u64, compute_ms: u64) -> Result<String, String> {
    let testbed = Description::shipped("emulated")?.testbed()?.with_rates(mbit)?;
    let pattern =
        Pattern { compute: Some(Time::ms(compute_ms)), neighbours: Neighbourhood::Pairs(1), ..Pattern::default() };
    let options = Options { size, iterations: ITERATIONS, warmup: WARMUP, pattern, ..Options::default() };
    let mut sum_us = 0.0;
    for seed in SEEDS {
        sum_us += run(&Machine::new(testbed.clone(), (2, 1), seed), Benchmark::Exchange, &options)?.value;
    }
    let mean_us = sum_us / (SEEDS.end - SEEDS.start) as f64;
    let bytes_per_us = mbit.iter().sum::<f64>() / 8.0;
    Ok(format!("{:.0}", 100.0 * size as f64 / mean_us / bytes_per_us))
}
