//! Records collective operations in a profile.

use fishplate_profile::calls::Kind;

use super::observation::After;
use super::significance::Part;
use crate::ffi::objects::Comm;
use crate::profile::{Collective, Operation};

/// Peers by their indexes in arrays of counts.
struct Peers {
    /// Length of the arrays.
    length: usize,
    /// Indexes without a peer: beyond the edge of a grid.
    nobody: Vec<usize>,
}

impl Peers {
    /// All ranks of a group.
    fn all(ranks: usize) -> Peers {
        Peers { length: ranks, nobody: Vec::new() }
    }

    /// Neighbours; negative ranks mean no peer.
    fn neighbors(ranks: &[i32]) -> Peers {
        let nobody = ranks.iter().enumerate().filter(|(_, rank)| **rank < 0).map(|(at, _)| at);
        Peers { length: ranks.len(), nobody: nobody.collect() }
    }

    fn count(&self) -> u64 {
        (self.length - self.nobody.len()) as u64
    }
}

impl After<'_> {
    /// Records a collective operation.
    pub fn collective(&mut self) {
        let Some(comm) = self.comm else { return };
        let communicator = self.recorder.communicators.place(comm);
        let part = self.part(communicator);
        let [sent, received] = self.collective_bytes(comm, communicator, part);
        let collective = Collective { communicator, is_root: part.is_root, sent, received };
        self.operations([Some(Operation::Collective { collective, number: 0 }), None]);
    }

    /// The role of this rank in a collective operation.
    pub fn part(&mut self, communicator: usize) -> Part {
        let known = self.recorder.communicators.at(communicator);
        Part::of(self.abi, self.arguments, known.own, known.is_inter)
    }

    /// Bytes that a collective operation sends and receives for this rank, from its significant arguments.
    fn collective_bytes(&mut self, comm: Comm, communicator: usize, part: Part) -> [u64; 2] {
        let known = self.recorder.communicators.at(communicator);
        let (all, local, own) = (known.ranks, known.local, known.own);
        let ranks = if self.has_combined_parts() { local } else { all };
        let [sources, destinations] = if self.arguments.call.kind == Kind::Neighbor {
            self.recorder.communicators.neighbors(comm).each_ref().map(|ranks| Peers::neighbors(ranks))
        } else {
            [Peers::all(ranks), Peers::all(ranks)]
        };
        let exchanges = self.arguments.has(b'x') || self.arguments.has(b'v');
        let is_scatter = self.arguments.call.kind == Kind::Scatter;
        let received = match part.gets {
            false => 0,
            true if part.gets_in_place => self.own_share([b'x', b'v', b't'], ranks, own),
            true => self.bytes_received(&sources, own),
        };
        let sent = match part.gives {
            false => 0,
            // Each rank sends to each as many bytes as it receives.
            true if part.gives_in_place && exchanges && !is_scatter => received,
            true if part.gives_in_place => self.own_share([b'X', b'V', b'T'], ranks, own),
            true => self.bytes_sent(&destinations),
        };
        [sent, received]
    }

    /// Whether the counts are of the ranks of this rank's own group: in MPI_Reduce_scatter.
    fn has_combined_parts(&self) -> bool {
        self.arguments.has(b'R') || self.arguments.has(b'E')
    }

    /// This rank's bytes of the data to or from all ranks, from one count or an array of counts.
    fn own_share(&self, [count, counts, datatype]: [u8; 3], ranks: usize, own: usize) -> u64 {
        let one = self.arguments.count(count).map(|count| count * self.size(datatype));
        one.or_else(|| self.sizes(counts, datatype, b'-', ranks)?.get(own).copied()).unwrap_or(0)
    }

    fn bytes_sent(&self, peers: &Peers) -> u64 {
        let (arguments, each) = (self.arguments, peers.count());
        let one = |argument| arguments.count(argument).map(|count| count * self.size(b't'));
        let shared = || one(b'e').or_else(|| one(b'E').map(|bytes| bytes * each));
        let single = one(b'n').or_else(|| one(b'x').map(|bytes| bytes * each)).or_else(shared);
        single.or_else(|| self.sum(b'v', b't', b'y', peers)).or_else(|| self.sum(b'R', b't', b'-', peers)).unwrap_or(0)
    }

    fn bytes_received(&self, peers: &Peers, own: usize) -> u64 {
        let (arguments, each) = (self.arguments, peers.count());
        let one = |argument, datatype| arguments.count(argument).map(|count| count * self.size(datatype));
        let single = one(b'N', b'T').or_else(|| one(b'X', b'T').map(|bytes| bytes * each));
        let single = single.or_else(|| one(b'e', b't')).or_else(|| one(b'E', b't'));
        let own_part = || self.sizes(b'R', b't', b'-', peers.length)?.get(own).copied();
        single.or_else(|| self.sum(b'V', b'T', b'Y', peers)).or_else(own_part).unwrap_or(0)
    }

    fn sum(&self, counts: u8, datatype: u8, datatypes: u8, peers: &Peers) -> Option<u64> {
        let sizes = self.sizes(counts, datatype, datatypes, peers.length)?;
        Some(sizes.iter().enumerate().filter(|(at, _)| !peers.nobody.contains(at)).map(|(_, bytes)| bytes).sum())
    }

    /// An array of counts, converted to bytes; with one datatype, or one for each count.
    pub fn sizes(&self, counts: u8, datatype: u8, datatypes: u8, ranks: usize) -> Option<Vec<u64>> {
        let counts = self.arguments.counts(counts, ranks)?;
        if self.arguments.has(datatype) {
            let size = self.size(datatype);
            return Some(counts.iter().map(|count| count * size).collect());
        }
        let each = counts.iter().enumerate().map(|(rank, count)| {
            let size = self.arguments.handle_of(self.abi, datatypes, rank).map_or(0, |handle| self.size_of(handle));
            count * size
        });
        Some(each.collect())
    }
}
