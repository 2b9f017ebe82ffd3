//! Schedules of all ranks, run against each other by a machine that does everything as late and as unkindly as it may.

mod case;
mod large;
mod local;
mod machine;
mod memory;
mod small;
mod wan;
