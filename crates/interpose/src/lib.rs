//! The library `libfishplate-mpi.so`, which is loaded in front of the MPI library of a program (`LD_PRELOAD`).
//!
//! It defines collective functions of MPI and calls the MPI library by the names of the profiling interface (`PMPI_*`).
//! Where the ranks of a communicator are in several clusters, schedules of [`fishplate_collectives`] are carried out with
//! messages and with the MPI's own operations inside of clusters; all else is left to the MPI.
//!
//! One library serves all binary interfaces of MPI (`src/ffi/`). In a process that is no MPI program it does nothing.
//!
//! It has no interface for Rust: `fishplate run` loads it (docs/interpose.md), and environment variables are its settings.
#![deny(unsafe_code)]

mod call_statistics;
mod communicator;
mod deferred_free;
mod diagnostics;
mod execution;
#[allow(unsafe_code)]
mod ffi;
mod operation_order;
mod preference;
mod process_state;
mod progress;
mod settings;
mod sync;
mod topology;
