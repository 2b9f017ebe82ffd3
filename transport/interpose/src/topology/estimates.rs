//! Estimates of the network between and within clusters, and their encoding for a broadcast to all ranks.

/// Upper bound of a rate.
const MAX_BYTES_PER_S: u64 = 100_000_000_000;

/// Estimates of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimates {
    clusters: usize,
    /// Matrix by rows; 0 from a cluster to itself.
    round_trips_ns: Vec<u64>,
    bytes_per_s: Vec<u64>,
    /// 0 if unknown.
    shared_bytes_per_s: Vec<u64>,
    /// By cluster.
    intra_cluster: Vec<IntraCluster>,
}

/// The network between hosts of a cluster; 0 if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntraCluster {
    /// One-way latency of a short message, in nanoseconds.
    pub latency_ns: u64,
    /// Rate from one host to another.
    pub bytes_per_s: u64,
    /// Total rate if each host sends to another one.
    pub shared_bytes_per_s: u64,
}

impl IntraCluster {
    /// Inverse of [`IntraCluster::numbers`].
    pub fn of([latency_ns, bytes_per_s, shared_bytes_per_s]: [u64; 3]) -> IntraCluster {
        IntraCluster { latency_ns, bytes_per_s, shared_bytes_per_s }
    }

    /// As numbers, for a message.
    pub fn numbers(&self) -> [u64; 3] {
        [self.latency_ns, self.bytes_per_s, self.shared_bytes_per_s]
    }
}

/// The clusters of ranks with the estimates; known to rank 0.
#[derive(Debug)]
pub struct Discovered {
    /// The cluster of each rank.
    pub clusters: Vec<u64>,
    /// Estimates between and within the clusters.
    pub estimates: Estimates,
}

impl Estimates {
    /// Without any estimates.
    pub fn none(clusters: usize) -> Estimates {
        let pairs = clusters * clusters;
        Estimates {
            clusters,
            round_trips_ns: vec![0; pairs],
            bytes_per_s: vec![1; pairs],
            shared_bytes_per_s: vec![0; pairs],
            intra_cluster: vec![IntraCluster::default(); clusters],
        }
    }

    /// Round trip time of a short message between two clusters, in nanoseconds.
    pub fn round_trip_ns(&self, from: u64, to: u64) -> u64 {
        self.round_trips_ns[from as usize * self.clusters + to as usize]
    }

    /// Rate from a host of one cluster to a host of another; at least 1.
    pub fn bytes_per_s(&self, from: u64, to: u64) -> u64 {
        self.bytes_per_s[from as usize * self.clusters + to as usize]
    }

    /// Total rate from all hosts of a cluster to another cluster, if known.
    pub fn shared_bytes_per_s(&self, from: u64, to: u64) -> Option<u64> {
        Some(self.shared_bytes_per_s[from as usize * self.clusters + to as usize]).filter(|rate| *rate > 0)
    }

    /// Estimates within a cluster, if measured.
    pub fn intra_cluster(&self, cluster: u64) -> Option<IntraCluster> {
        Some(self.intra_cluster[cluster as usize]).filter(|intra_cluster| intra_cluster.bytes_per_s > 0)
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// In both directions.
    pub fn set_round_trip(&mut self, from: usize, to: usize, time_ns: u64) {
        self.round_trips_ns[from * self.clusters + to] = time_ns;
        self.round_trips_ns[to * self.clusters + from] = time_ns;
    }

    /// In both directions.
    pub fn set_rate(&mut self, from: usize, to: usize, rate: u64) {
        self.bytes_per_s[from * self.clusters + to] = rate.clamp(1, MAX_BYTES_PER_S);
        self.bytes_per_s[to * self.clusters + from] = rate.clamp(1, MAX_BYTES_PER_S);
    }

    /// In both directions.
    pub fn set_shared(&mut self, from: usize, to: usize, rate: Option<u64>) {
        let rate = rate.map_or(0, |rate| rate.clamp(1, MAX_BYTES_PER_S));
        self.shared_bytes_per_s[from * self.clusters + to] = rate;
        self.shared_bytes_per_s[to * self.clusters + from] = rate;
    }

    /// Sets the estimates within a cluster.
    pub fn set_intra_cluster(&mut self, cluster: usize, intra_cluster: IntraCluster) {
        self.intra_cluster[cluster] = intra_cluster;
    }

    /// Decodes the output of [`Discovered::encode`] for `ranks` ranks; `None` if it is empty.
    pub fn decode(numbers: &[u64], ranks: usize) -> Option<(Vec<u64>, Estimates)> {
        let clusters = *numbers.first()? as usize;
        let (of_ranks, rest) = numbers[1..].split_at_checked(ranks)?;
        let pairs = clusters * clusters;
        let (round_trips_ns, rest) = rest.split_at_checked(pairs)?;
        let (bytes_per_s, rest) = rest.split_at_checked(pairs)?;
        let (shared_bytes_per_s, rest) = rest.split_at_checked(pairs)?;
        let intra_cluster = rest.as_chunks().0.iter().copied().map(IntraCluster::of);
        let estimates = Estimates {
            clusters,
            round_trips_ns: round_trips_ns.to_vec(),
            bytes_per_s: bytes_per_s.to_vec(),
            shared_bytes_per_s: shared_bytes_per_s.to_vec(),
            intra_cluster: intra_cluster.collect(),
        };
        Some((of_ranks.to_vec(), estimates))
    }
}

impl Discovered {
    /// Encodes clusters and estimates as numbers.
    pub fn encode(&self) -> Vec<u64> {
        let mut numbers = vec![self.estimates.clusters as u64];
        numbers.extend(&self.clusters);
        numbers.extend(&self.estimates.round_trips_ns);
        numbers.extend(&self.estimates.bytes_per_s);
        numbers.extend(&self.estimates.shared_bytes_per_s);
        numbers.extend(self.estimates.intra_cluster.iter().flat_map(IntraCluster::numbers));
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
        estimates.set_intra_cluster(
            1,
            IntraCluster { latency_ns: 20_000, bytes_per_s: 1_000_000_000, shared_bytes_per_s: 0 },
        );
        let found = Discovered { clusters: vec![0, 1, 1], estimates };
        let sent = to_numbers(&to_bytes(&found.encode()));
        let (clusters, estimates) = Estimates::decode(&sent, 3).unwrap();
        assert_eq!((clusters, &estimates), (found.clusters.clone(), &found.estimates));
        assert_eq!((estimates.round_trip_ns(1, 0), estimates.bytes_per_s(0, 1)), (2_000_000, 125_000_000));
        assert_eq!((estimates.shared_bytes_per_s(1, 0), estimates.shared_bytes_per_s(0, 0)), (Some(250_000_000), None));
        assert_eq!((estimates.intra_cluster(0), estimates.intra_cluster(1).unwrap().latency_ns), (None, 20_000));
        assert!(Estimates::decode(&[], 3).is_none());
    }
}
