//! Those that a rank sends to, or receives from, in a collective operation.

/// By their places in arrays.
pub struct Peers {
    /// How many places there are.
    pub length: usize,
    /// Places of nobody: beyond the edge of a grid.
    pub nobody: Vec<usize>,
}

impl Peers {
    /// All ranks of a group.
    pub fn all(ranks: usize) -> Peers {
        Peers { length: ranks, nobody: Vec::new() }
    }

    /// Neighbours; negative ranks are nobody.
    pub fn neighbors(ranks: &[i32]) -> Peers {
        let nobody = ranks.iter().enumerate().filter(|(_, rank)| **rank < 0).map(|(at, _)| at);
        Peers { length: ranks.len(), nobody: nobody.collect() }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.length - self.nobody.len()) as u64
    }
}
