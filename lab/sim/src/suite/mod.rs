//! The benchmark suite on modelled machines: its benchmarks, options and values are those of `bench/`.

mod benchmark;
mod collective;
mod competing_traffic;
mod exchange;
mod file_access;
mod files;
mod intervals;
mod neighbours;
mod one_sided;
mod options;
mod patterns;
mod run;
mod timing;

pub use benchmark::{Benchmark, Unit};
pub use competing_traffic::{Disturbance, Second, over_time};
pub use file_access::FileAccess;
pub use intervals::intervals;
pub(crate) use neighbours::Neighbour;
pub use neighbours::Neighbourhood;
pub use options::{Options, Outcome, Pattern};
pub use run::{run, sweep};
