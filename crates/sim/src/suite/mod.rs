//! The benchmark suite over modelled machines: the same benchmarks, options and values as those in `bench/`.

mod benchmark;
mod collective;
mod exchange;
mod intervals;
mod neighbours;
mod one_sided;
mod over_time;
mod patterns;
mod run;

pub use benchmark::{Benchmark, Unit};
pub use intervals::intervals;
pub use neighbours::Neighbourhood;
pub use over_time::{Disturbance, Second, over_time};
pub use patterns::Pattern;
pub use run::{Machine, Options, Outcome, run, sweep};
