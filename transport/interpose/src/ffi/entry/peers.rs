//! The peers of a rank in a collective operation.

/// Peers by their indexes in arrays of counts.
pub struct Peers {
    /// Length of the arrays.
    pub length: usize,
    /// Indexes without a peer: beyond the edge of a grid.
    pub nobody: Vec<usize>,
}

impl Peers {
    /// All ranks of a group.
    pub fn all(ranks: usize) -> Peers {
        Peers { length: ranks, nobody: Vec::new() }
    }

    /// Neighbours; negative ranks mean no peer.
    pub fn neighbors(ranks: &[i32]) -> Peers {
        let nobody = ranks.iter().enumerate().filter(|(_, rank)| **rank < 0).map(|(at, _)| at);
        Peers { length: ranks.len(), nobody: nobody.collect() }
    }

    /// Number of peers.
    pub fn count(&self) -> u64 {
        (self.length - self.nobody.len()) as u64
    }
}
