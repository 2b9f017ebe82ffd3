//! Installs for `fishplate setup`: packages of PyPI into folders of their own ([`packages`]), MPI libraries ([`mpi`]),
//! and applications with their inputs ([`application`]), and storages from Debian ([`storage`], [`apt_lists`]).
//! [`server`] finds the reason for a failed download.

pub mod application;
mod apt_lists;
pub mod mpi;
mod packages;
mod progress;
mod server;
pub mod storage;
