//! Estimates of the network, from which algorithms are chosen.

use crate::map::Cluster;

/// Estimates of a network. They must be equal on all ranks, or ranks would choose differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    inside: Vec<IntraCluster>,
    /// One cluster after the other, each with all.
    between: Vec<Wan>,
    library: Library,
}

/// The MPI library whose own algorithms schedules are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// MPICH, and libraries derived from it.
    Mpich,
    /// Another, or one that is not known.
    Other,
}

/// The network inside of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntraCluster {
    /// One way of a short message between two ranks, in nanoseconds.
    pub latency_ns: u64,
    /// Rate from one host to another, in bytes per second; between ranks of one host the copy rate counts.
    pub bytes_per_s: u64,
    /// Rate of all hosts together, if known.
    pub shared_bytes_per_s: Option<u64>,
    /// Rate at which one rank copies or reduces, in bytes per second.
    pub copy_bytes_per_s: u64,
}

impl IntraCluster {
    /// Values assumed without a measurement: ranks of a cluster share memory or a local network, and only the ratios to
    /// the WAN count, which are large.
    pub const UNMEASURED: IntraCluster = IntraCluster {
        latency_ns: 10_000,
        bytes_per_s: 1_250_000_000,
        shared_bytes_per_s: None,
        copy_bytes_per_s: 4_000_000_000,
    };
}

/// Between two clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wan {
    /// Round trip of a short message in nanoseconds.
    pub round_trip_ns: u64,
    /// Rate of one host over it, in bytes per second.
    pub host_bytes_per_s: u64,
    /// Rate of all hosts of a cluster together, if known.
    pub shared_bytes_per_s: Option<u64>,
}

impl Wan {
    /// Whether all hosts of a cluster together may reach a much higher rate than one of them.
    pub(crate) fn is_worth_sharing(&self) -> bool {
        self.shared_bytes_per_s.is_none_or(|rate| rate / 2 >= self.host_bytes_per_s)
    }
}

impl Network {
    /// `inside` of each cluster, and `between` of each two: row by row, clusters with themselves left as they are.
    ///
    /// # Panics
    /// When `between` is not as long as `inside` squared, or a rate is 0.
    pub fn new(inside: Vec<IntraCluster>, between: Vec<Wan>) -> Network {
        assert_eq!(between.len(), inside.len() * inside.len(), "a WAN between each two clusters");
        let shared = |rate: Option<u64>| rate.unwrap_or(u64::MAX);
        let rates_inside = inside
            .iter()
            .flat_map(|inside| [inside.bytes_per_s, inside.copy_bytes_per_s, shared(inside.shared_bytes_per_s)]);
        let rates_between = between.iter().flat_map(|wan| [wan.host_bytes_per_s, shared(wan.shared_bytes_per_s)]);
        assert!(rates_inside.chain(rates_between).all(|rate| rate > 0), "no rate is 0");
        Network { inside, between, library: Library::Other }
    }

    /// These estimates for programs over this MPI library. The default is an unknown library.
    pub fn for_library(self, library: Library) -> Network {
        Network { library, ..self }
    }

    /// These estimates with links that all hosts of a cluster share at the rate of one host, where the rate of all
    /// together is unknown.
    pub(crate) fn where_hosts_share(&self) -> Network {
        let mut network = self.clone();
        for wan in &mut network.between {
            wan.shared_bytes_per_s.get_or_insert(wan.host_bytes_per_s);
        }
        network
    }

    /// The MPI library whose own algorithms schedules are compared with.
    pub fn library(&self) -> Library {
        self.library
    }

    /// A network of `clusters` clusters with equal properties within and between all of them.
    pub fn uniform(clusters: usize, inside: IntraCluster, wan: Wan) -> Network {
        Network::new(vec![inside; clusters], vec![wan; clusters * clusters])
    }

    /// The network inside of a cluster.
    pub fn inside(&self, cluster: Cluster) -> IntraCluster {
        self.inside[cluster.0]
    }

    /// From one cluster to another.
    pub fn between(&self, from: Cluster, to: Cluster) -> Wan {
        self.between[from.0 * self.inside.len() + to.0]
    }
}
