//! Installs for `fishplate setup`: packages of PyPI into folders of their own ([`packages`]), MPI libraries ([`mpi`]),
//! and applications with their inputs ([`application`]), and storages from Debian ([`storage`]).
//! [`server`] finds the reason for a failed download.

pub mod application;
pub mod mpi;
mod packages;
mod progress;
mod server;
pub mod storage;
