//! One file a check: the facts that it wants of a host, how they are gathered there, and what they mean. Facts are plain
//! data, so that they travel between hosts, and judgements can be tested without any.

pub mod distance;
pub mod kernel;
pub mod mpi;
pub mod open_files;
pub mod packet_sizes;
pub mod paths;
pub mod provider;
pub mod rails;
pub mod shared_memory;
pub mod versions;

use std::str::FromStr;

/// The last of the numbers that a setting of the kernel consists of, by its path below /proc/sys.
fn last_number<T: FromStr>(path: &str) -> Option<T> {
    std::fs::read_to_string(format!("/proc/sys/{path}")).ok()?.split_whitespace().last()?.parse().ok()
}
