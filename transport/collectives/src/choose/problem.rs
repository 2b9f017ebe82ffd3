//! The problem that [`super::choose`] solves: an operation, and where it is to be done.

use crate::map::{Cluster, ClusterMap, Rank};
use crate::network::Network;
use crate::operation::{Blocks, Exchange, Operation};

/// An operation on a network of clusters.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    pub operation: &'a Operation,
    pub element_bytes: usize,
    pub map: &'a ClusterMap,
    pub network: &'a Network,
}

impl Problem<'_> {
    /// Bytes of `len` elements.
    pub fn bytes(&self, len: usize) -> f64 {
        len as f64 * self.element_bytes as f64
    }

    /// Bytes of the blocks of a cluster.
    pub fn bytes_of(&self, blocks: &Blocks, cluster: Cluster) -> f64 {
        self.map.members(cluster).iter().map(|rank| self.bytes(blocks.len(*rank))).sum()
    }

    /// Bytes of an exchange from some ranks to others.
    pub fn bytes_exchanged(&self, exchange: &Exchange, from: &[Rank], to: &[Rank]) -> f64 {
        from.iter().flat_map(|from| to.iter().map(|to| self.bytes(exchange.len(*from, *to)))).sum()
    }
}
