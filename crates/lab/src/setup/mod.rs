//! What `fishplate setup` does: packages of PyPI into folders of their own ([`packages`]), MPI libraries ([`mpi`]), and
//! applications with their inputs ([`application`]).

pub mod application;
pub mod mpi;
mod packages;
mod progress;
