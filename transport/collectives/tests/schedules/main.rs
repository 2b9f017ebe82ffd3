//! Schedules of all ranks, run against each other by a machine that delays and reorders whatever MPI permits.

mod case;
mod large;
mod local;
mod machine;
mod memory;
mod small;
mod wan;
