//! The simulator as other crates use it. One binary, so that long tests run beside each other.

mod atomics;
mod files;
mod history;
mod inner_links;
mod many_ranks;
mod mutations;
mod patterns;
mod predict;
mod replay;
mod seeds;
mod throughput;
