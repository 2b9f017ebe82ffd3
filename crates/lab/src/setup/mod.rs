//! What `fishplate setup` does: packages of PyPI into folders of their own ([`packages`]), MPI libraries ([`mpi`]), and
//! applications with their inputs ([`application`]), and storages from Debian ([`storage`]).

pub mod application;
pub mod mpi;
mod packages;
mod progress;
pub mod storage;
