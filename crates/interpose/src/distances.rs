//! What is between clusters, and how it is told to all.

/// More than any rail carries.
const MOST_BYTES_PER_S: u64 = 100_000_000_000;

/// What is between clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    clusters: usize,
    /// Row by row; 0 from a cluster to itself.
    round_trips_ns: Vec<u64>,
    bytes_per_s: Vec<u64>,
}

/// Clusters of ranks, and what is between them; known to rank 0.
#[derive(Debug)]
pub struct Found {
    /// The cluster of each rank.
    pub clusters: Vec<u64>,
    /// What is between them.
    pub distances: Distances,
}

impl Distances {
    /// Nothing known yet.
    pub fn none(clusters: usize) -> Distances {
        Distances { clusters, round_trips_ns: vec![0; clusters * clusters], bytes_per_s: vec![1; clusters * clusters] }
    }

    /// Of a short message, in nanoseconds.
    pub fn round_trip_ns(&self, from: u64, to: u64) -> u64 {
        self.round_trips_ns[from as usize * self.clusters + to as usize]
    }

    /// From one host to another; at least 1.
    pub fn bytes_per_s(&self, from: u64, to: u64) -> u64 {
        self.bytes_per_s[from as usize * self.clusters + to as usize]
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
        self.bytes_per_s[from * self.clusters + to] = rate.clamp(1, MOST_BYTES_PER_S);
        self.bytes_per_s[to * self.clusters + from] = rate.clamp(1, MOST_BYTES_PER_S);
    }

    /// The clusters of so many ranks, and what is between them, as `Found::encode` wrote it; nothing from nothing.
    pub fn decode(numbers: &[u64], ranks: usize) -> Option<(Vec<u64>, Distances)> {
        let clusters = *numbers.first()? as usize;
        let (of_ranks, rest) = numbers[1..].split_at_checked(ranks)?;
        let (round_trips_ns, bytes_per_s) = rest.split_at_checked(clusters * clusters)?;
        let distances =
            Distances { clusters, round_trips_ns: round_trips_ns.to_vec(), bytes_per_s: bytes_per_s.to_vec() };
        Some((of_ranks.to_vec(), distances))
    }
}

impl Found {
    /// As numbers, for all ranks.
    pub fn encode(&self) -> Vec<u64> {
        let mut numbers = vec![self.distances.clusters as u64];
        numbers.extend(&self.clusters);
        numbers.extend(&self.distances.round_trips_ns);
        numbers.extend(&self.distances.bytes_per_s);
        numbers
    }
}

/// All processes are on machines of one kind: MPI's binary interface says so.
pub fn to_bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// What `to_bytes` was given.
pub fn to_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|chunk| u64::from_ne_bytes(*chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_survives_the_way_to_others() {
        let mut distances = Distances::none(2);
        distances.set_round_trip(0, 1, 2_000_000);
        distances.set_rate(0, 1, 125_000_000);
        let found = Found { clusters: vec![0, 1, 1], distances };
        let sent = to_numbers(&to_bytes(&found.encode()));
        let (clusters, distances) = Distances::decode(&sent, 3).unwrap();
        assert_eq!((clusters, &distances), (found.clusters.clone(), &found.distances));
        assert_eq!((distances.round_trip_ns(1, 0), distances.bytes_per_s(0, 1)), (2_000_000, 125_000_000));
        assert!(Distances::decode(&[], 3).is_none());
    }
}
