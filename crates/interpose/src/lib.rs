//! The library `libfishplate-mpi.so`, which is loaded in front of the MPI library of a program (`LD_PRELOAD`).
//!
//! It does two things, of which either works without the other. All MPI calls of the program come in here, as a rule to be
//! handed on.
//!
//! - Collective operations. Where the ranks of a communicator are in several clusters, schedules of
//!   [`fishplate_collectives`] are carried out with messages and with the MPI's own operations inside of clusters, by the
//!   names of the profiling interface (`PMPI_*`).
//! - Profiles: with `FISHPLATE_PROFILE`, `src/profile/` records what the program asks of MPI; with
//!   `FISHPLATE_TRACE` as well, `src/trace/` writes down every call.
//!
//! One library serves all binary interfaces of MPI (`src/ffi/`). In a process that is no MPI program it does nothing.
//!
//! It has no interface for Rust: `fishplate run` (docs/reference/interpose.md) and `fishplate profile`
//! (docs/guide/profile.md) load it, and environment variables are its settings.
#![deny(unsafe_code)]

mod call_statistics;
mod communicator;
mod deferred_free;
mod execution;
#[allow(unsafe_code)]
mod ffi;
mod notes;
mod operation_order;
mod preference;
mod process_state;
mod profile;
mod progress;
mod settings;
mod sync;
mod topology;
mod trace;
