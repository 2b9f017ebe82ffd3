//! MPI: which libraries there are, and how programs are started so that they use Fishplate.
//!
//! [`stacks`] describes MPI installations and starts programs with them. [`environment`] gives the variables for a
//! command of the user's, with [`provider_library`] and [`interposer`] (the two shared libraries),
//! [`forwarded_variables`] (what launchers pass on to other hosts) and [`one_host`] (what stays with the MPI);
//! [`command_line`] puts them around it, [`environment_format`] and [`module_file`] write them for shells and others;
//! [`unseen`] finds the reasons why programs have used neither library. Commands, `bench`, `rpi` and `demo` call
//! these.

pub mod command_line;
pub mod environment;
pub mod environment_format;
pub mod forwarded_variables;
pub mod interposer;
pub mod module_file;
pub mod one_host;
pub mod provider_library;
pub mod stacks;
pub mod unseen;
