//! Estimates of the network between and within clusters, and their encoding for a broadcast to all ranks.

/// Upper bound of a rate.
const MAX_BYTES_PER_S: u64 = 100_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimates {
    clusters: usize,
    /// Matrix by rows; a cluster and itself are never measured.
    between: Vec<InterCluster>,
    /// By cluster.
    inside: Vec<IntraCluster>,
}

/// The network between two clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterCluster {
    /// Round trip time of a short message.
    pub round_trip_ns: u64,
    /// Rate from a host of one cluster to a host of the other; at least 1.
    pub bytes_per_s: u64,
    /// Total rate from all hosts of one cluster to the other, if known.
    pub shared_bytes_per_s: Option<u64>,
}

/// The network between hosts of a cluster; 0 if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntraCluster {
    /// One-way latency of a short message.
    pub latency_ns: u64,
    /// Rate from one host to another.
    pub bytes_per_s: u64,
    /// Total rate if each host sends to another one.
    pub shared_bytes_per_s: u64,
}

/// Length of the estimates of a pair, or of a cluster, in a message.
const NUMBERS: usize = 3;

impl InterCluster {
    fn of([round_trip_ns, bytes_per_s, shared_bytes_per_s]: [u64; NUMBERS]) -> InterCluster {
        let shared_bytes_per_s = Some(shared_bytes_per_s).filter(|rate| *rate > 0);
        InterCluster { round_trip_ns, bytes_per_s, shared_bytes_per_s }
    }

    fn numbers(&self) -> [u64; NUMBERS] {
        [self.round_trip_ns, self.bytes_per_s, self.shared_bytes_per_s.unwrap_or(0)]
    }
}

impl IntraCluster {
    /// Inverse of [`IntraCluster::numbers`].
    pub fn of([latency_ns, bytes_per_s, shared_bytes_per_s]: [u64; NUMBERS]) -> IntraCluster {
        IntraCluster { latency_ns, bytes_per_s, shared_bytes_per_s }
    }

    /// As numbers, for a message.
    pub fn numbers(&self) -> [u64; NUMBERS] {
        [self.latency_ns, self.bytes_per_s, self.shared_bytes_per_s]
    }
}

/// The clusters of ranks with the estimates; known to rank 0.
#[derive(Debug)]
pub struct Discovered {
    /// The cluster of each rank.
    pub clusters: Vec<u64>,
    pub estimates: Estimates,
}

impl Estimates {
    /// Without any estimates.
    pub fn none(clusters: usize) -> Estimates {
        let unknown = InterCluster { round_trip_ns: 0, bytes_per_s: 1, shared_bytes_per_s: None };
        Estimates {
            clusters,
            between: vec![unknown; clusters * clusters],
            inside: vec![IntraCluster::default(); clusters],
        }
    }

    pub fn between(&self, from: u64, to: u64) -> InterCluster {
        self.between[from as usize * self.clusters + to as usize]
    }

    pub fn inside(&self, cluster: u64) -> Option<IntraCluster> {
        Some(self.inside[cluster as usize]).filter(|inside| inside.bytes_per_s > 0)
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// Sets the round trip time in both directions.
    pub fn set_round_trip(&mut self, from: usize, to: usize, time_ns: u64) {
        self.change(from, to, |pair| pair.round_trip_ns = time_ns);
    }

    /// Sets the rate of one host in both directions.
    pub fn set_rate(&mut self, from: usize, to: usize, rate: u64) {
        self.change(from, to, |pair| pair.bytes_per_s = rate.clamp(1, MAX_BYTES_PER_S));
    }

    /// Sets the rate of all hosts in both directions.
    pub fn set_shared(&mut self, from: usize, to: usize, rate: Option<u64>) {
        let rate = rate.map(|rate| rate.clamp(1, MAX_BYTES_PER_S));
        self.change(from, to, |pair| pair.shared_bytes_per_s = rate);
    }

    pub fn set_inside(&mut self, cluster: usize, inside: IntraCluster) {
        self.inside[cluster] = inside;
    }

    fn change(&mut self, from: usize, to: usize, change: impl Fn(&mut InterCluster)) {
        for (from, to) in [(from, to), (to, from)] {
            change(&mut self.between[from * self.clusters + to]);
        }
    }

    /// Decodes the output of [`Discovered::encode`] for `ranks` ranks; `None` if it is empty.
    pub fn decode(numbers: &[u64], ranks: usize) -> Option<(Vec<u64>, Estimates)> {
        let clusters = *numbers.first()? as usize;
        let (of_ranks, rest) = numbers[1..].split_at_checked(ranks)?;
        let (between, inside) = rest.as_chunks().0.split_at_checked(clusters * clusters)?;
        let between = between.iter().copied().map(InterCluster::of).collect();
        let inside = inside.iter().copied().map(IntraCluster::of).collect();
        Some((of_ranks.to_vec(), Estimates { clusters, between, inside }))
    }
}

impl Discovered {
    /// Encodes clusters and estimates as numbers.
    pub fn encode(&self) -> Vec<u64> {
        let Estimates { clusters, between, inside } = &self.estimates;
        let mut numbers = vec![*clusters as u64];
        numbers.extend(&self.clusters);
        numbers.extend(between.iter().flat_map(InterCluster::numbers));
        numbers.extend(inside.iter().flat_map(IntraCluster::numbers));
        numbers
    }
}

/// Bytes of the numbers in native byte order: MPI's datatypes already require equal architectures.
pub fn to_bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Inverse of [`to_bytes`].
pub fn to_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|chunk| u64::from_ne_bytes(*chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_survive_their_encoding() {
        let mut estimates = Estimates::none(2);
        estimates.set_round_trip(0, 1, 2_000_000);
        estimates.set_rate(0, 1, 125_000_000);
        estimates.set_shared(0, 1, Some(250_000_000));
        let inside = IntraCluster { latency_ns: 20_000, bytes_per_s: 1_000_000_000, shared_bytes_per_s: 0 };
        estimates.set_inside(1, inside);
        let found = Discovered { clusters: vec![0, 1, 1], estimates };
        let sent = to_numbers(&to_bytes(&found.encode()));
        let (clusters, estimates) = Estimates::decode(&sent, 3).unwrap();
        assert_eq!((clusters, &estimates), (found.clusters.clone(), &found.estimates));
        let pair =
            InterCluster { round_trip_ns: 2_000_000, bytes_per_s: 125_000_000, shared_bytes_per_s: Some(250_000_000) };
        assert_eq!([estimates.between(0, 1), estimates.between(1, 0)], [pair; 2]);
        assert_eq!(estimates.between(0, 0).shared_bytes_per_s, None);
        assert_eq!([estimates.inside(0), estimates.inside(1)], [None, Some(inside)]);
        assert!(Estimates::decode(&[], 3).is_none());
    }
}
