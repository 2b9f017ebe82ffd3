//! The library `libfishplate-mpi.so`, which interposes the MPI library of a program (`LD_PRELOAD`).
//!
//! All MPI calls of the program enter this library, which passes most of them on. It has two independent functions:
//!
//! - Collective operations. If the ranks of a communicator are in several clusters, schedules of [`fishplate_collectives`] are
//!   executed. They use messages, and the MPI's collective operations within clusters, through the profiling interface
//!   (`PMPI_*`).
//! - Profiles. With `FISHPLATE_PROFILE`, `src/profile/` records statistics of the program's calls; with `FISHPLATE_TRACE`
//!   too, `src/trace/` records every call.
//!
//! One library supports all ABIs of MPI (`src/ffi/`). In a process that does not use MPI it does nothing.
//!
//! It has no Rust interface: `fishplate run` (docs/reference/interpose.md) and `fishplate profile` (docs/guide/profile.md)
//! load it. Its settings are environment variables.
#![deny(unsafe_code)]

mod call_statistics;
mod communicator;
mod execution;
#[allow(unsafe_code)]
mod ffi;
mod notes;
mod operation_order;
mod process_state;
mod profile;
mod progress;
mod settings;
mod sync;
mod topology;
mod trace;
