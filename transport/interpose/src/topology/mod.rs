//! Discovers the places of the ranks of MPI_COMM_WORLD at MPI_Init.
//!
//! [`exchange`] collects the names of hosts at rank 0 and broadcasts the result. In between, [`discovery`] groups hosts to
//! clusters by their round trip times ([`probe`], [`proximity`]), unless the user names clusters ([`named_clusters`]), and
//! [`bandwidth`] measures rates ([`estimates`]).

mod bandwidth;
mod discovery;
mod estimates;
mod exchange;
mod map;
mod named_clusters;
mod probe;
mod proximity;

pub use exchange::discover;
pub use map::Topology;
pub use named_clusters::NamedClusters;
