//! Where the ranks of MPI_COMM_WORLD are: found out when MPI starts, by messages of the first ranks.
//!
//! [`exchange`] collects the names of hosts at rank 0 and tells all ranks the result. In between, [`discovery`] groups
//! hosts to clusters by their round trip times ([`probe`], [`proximity`]), unless the user names them
//! ([`named_clusters`]), and [`bandwidth`] measures rates ([`estimates`]). Only the process's state asks for all this,
//! once.

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
