//! Installs for `fishplate setup`: packages of PyPI into folders of their own ([`packages`]), MPI libraries ([`mpi`]),
//! and applications with their inputs ([`application`]), and storages from Debian ([`storage`], [`apt_lists`]).
//! [`server`] tells why nothing could be fetched.

pub mod application;
mod apt_lists;
pub mod mpi;
mod packages;
mod progress;
mod server;
pub mod storage;
