//! What is known of the network, for choosing.

use crate::map::Cluster;

/// Estimates of a network. Every rank must have the same, or ranks would choose differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    inside: Vec<IntraCluster>,
    /// One cluster after the other, each with all.
    between: Vec<Wan>,
    library: Library,
}

/// Whose own algorithms are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// MPICH, and what is built like it.
    Mpich,
    /// Another, or one that is not known.
    Other,
}

/// The network inside of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntraCluster {
    /// One way of a short message between two ranks, in nanoseconds.
    pub latency_ns: u64,
    /// What one host sends to another, in bytes a second; between ranks of one host the copy rate counts.
    pub bytes_per_s: u64,
    /// What all hosts send each other together, if that is known.
    pub shared_bytes_per_s: Option<u64>,
    /// What one rank copies or reduces, in bytes a second.
    pub copy_bytes_per_s: u64,
}

impl IntraCluster {
    /// What is assumed where nothing was measured: ranks of a cluster share memory or a local network, and only ratios to
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
    /// What one host can send over it, in bytes a second.
    pub host_bytes_per_s: u64,
    /// What all hosts of a cluster together can, if that is known.
    pub shared_bytes_per_s: Option<u64>,
}

impl Wan {
    /// Whether all hosts of a cluster reach much more together than one of them, for all that is known.
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

    /// The same, for programs that run over this MPI; unless told, it is not known.
    pub fn for_library(self, library: Library) -> Network {
        Network { library, ..self }
    }

    /// The same where all hosts of a cluster share links that carry what one host can send, unless it is known what
    /// they do.
    pub(crate) fn where_hosts_share(&self) -> Network {
        let mut network = self.clone();
        for wan in &mut network.between {
            wan.shared_bytes_per_s.get_or_insert(wan.host_bytes_per_s);
        }
        network
    }

    /// Whose own algorithms are compared with.
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
