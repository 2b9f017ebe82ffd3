//! Which rank is where.

use fishplate_collectives::{ClusterMap, Place};

/// Ranks on nodes, nodes in clusters. Ranks fill one node after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    ranks: u32,
    per_node: u32,
    /// Nodes in use of each cluster.
    clusters: Vec<usize>,
}

impl Placement {
    /// `ranks` in equal parts over so many clusters, `per_node` on each node.
    pub fn new(ranks: u32, per_node: u32, clusters: usize) -> Placement {
        let clusters = clusters.max(1);
        let each = (ranks as usize).div_ceil(clusters);
        let nodes = each.div_ceil(per_node.max(1) as usize);
        Placement { ranks, per_node: per_node.max(1), clusters: vec![nodes; clusters] }
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
