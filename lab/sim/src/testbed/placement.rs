//! Which rank is where.

use fishplate_collectives::{ClusterMap, Place};

/// Ranks on nodes, nodes in clusters. Ranks fill one node after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    ranks: u32,
    per_node: u32,
    /// Ranks at the end that are alone on their nodes.
    servers: u32,
    /// Nodes in use of each cluster.
    clusters: Vec<usize>,
}

impl Placement {
    /// `ranks` ranks in equal parts on the clusters, `per_node` on each node.
    pub fn new(ranks: u32, per_node: u32, clusters: usize) -> Placement {
        let clusters = clusters.max(1);
        let each = (ranks as usize).div_ceil(clusters);
        let nodes = each.div_ceil(per_node.max(1) as usize);
        Placement { ranks, per_node: per_node.max(1), servers: 0, clusters: vec![nodes; clusters] }
    }

    /// All ranks in the first cluster, and then `servers` more ranks in the last cluster, each on a node of its own.
    pub fn serving(&self, servers: u32) -> Placement {
        let mut clusters = vec![0; self.clusters.len()];
        clusters[0] = self.ranks.div_ceil(self.per_node) as usize;
        clusters[self.clusters.len() - 1] += servers as usize;
        Placement { ranks: self.ranks + servers, servers, clusters, ..*self }
    }

    /// Ranks in all.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Nodes in use.
    pub fn nodes(&self) -> usize {
        self.clusters.iter().sum()
    }

    /// Nodes in use of each cluster.
    pub fn clusters(&self) -> &[usize] {
        &self.clusters
    }

    /// Ranks of one cluster.
    pub fn ranks_of_cluster(&self) -> u32 {
        self.ranks.div_ceil(self.clusters.len() as u32)
    }

    /// As schedules of collective operations see it.
    pub fn map(&self) -> ClusterMap {
        let place = |rank| {
            let node = self.node_of(rank);
            Place { cluster: self.cluster_of(node) as u64, host: node as u64 }
        };
        ClusterMap::new(&(0..self.ranks).map(place).collect::<Vec<_>>())
    }

    /// Where a rank runs.
    pub fn node_of(&self, rank: u32) -> usize {
        let from_the_end = self.ranks - rank;
        if from_the_end <= self.servers {
            return self.nodes() - from_the_end as usize;
        } else if self.servers > 0 {
            return (rank / self.per_node) as usize;
        }
        let each = self.ranks_of_cluster();
        let (cluster, within) = ((rank / each) as usize, rank % each);
        self.clusters[..cluster].iter().sum::<usize>() + (within / self.per_node) as usize
    }

    /// Its position among the ranks of its node.
    pub fn place_on_node(&self, rank: u32) -> usize {
        (rank % self.ranks_of_cluster() % self.per_node) as usize
    }

    /// Which cluster a node belongs to.
    pub fn cluster_of(&self, node: usize) -> usize {
        let mut end = 0;
        self.clusters
            .iter()
            .position(|nodes| {
                end += nodes;
                node < end
            })
            .unwrap_or(0)
    }
}
