//! Places of ranks: clusters and hosts.

use std::collections::BTreeMap;

/// A rank of the communicator that the operation is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub usize);

/// A rank of a cluster's own communicator: the position of a rank among its cluster's, which are in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalRank(pub usize);

/// A cluster; clusters are numbered in the order of their lowest ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cluster(pub usize);

/// Where a rank runs. The numbers are the caller's: all that counts is which of them are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Ranks with the same number are near each other.
    pub cluster: u64,
    /// Ranks of a cluster with the same number share the rails of one host.
    pub host: u64,
}

/// Clusters and hosts of the ranks. It must be equal on all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterMap {
    clusters: Vec<Cluster>,
    members: Vec<Vec<Rank>>,
    host_leaders: Vec<Vec<LocalRank>>,
    /// The host of each rank, numbered through all clusters.
    hosts: Vec<usize>,
    host_count: usize,
}

impl ClusterMap {
    /// From the place of each rank.
    pub fn new(places: &[Place]) -> ClusterMap {
        let mut map = ClusterMap {
            clusters: Vec::with_capacity(places.len()),
            members: Vec::new(),
            host_leaders: Vec::new(),
            hosts: Vec::with_capacity(places.len()),
            host_count: 0,
        };
        let mut clusters: BTreeMap<u64, usize> = BTreeMap::new();
        let mut hosts: BTreeMap<Place, usize> = BTreeMap::new();
        for (rank, place) in places.iter().enumerate() {
            let index = *clusters.entry(place.cluster).or_insert_with(|| {
                map.members.push(Vec::new());
                map.host_leaders.push(Vec::new());
                map.members.len() - 1
            });
            let host = *hosts.entry(*place).or_insert_with(|| {
                map.host_leaders[index].push(LocalRank(map.members[index].len()));
                map.host_count += 1;
                map.host_count - 1
            });
            map.members[index].push(Rank(rank));
            map.clusters.push(Cluster(index));
            map.hosts.push(host);
        }
        map
    }

    /// From the cluster of each rank; each rank is taken to have a host to itself.
    pub fn of_clusters(clusters: &[u64]) -> ClusterMap {
        let place = |(rank, cluster): (usize, &u64)| Place { cluster: *cluster, host: rank as u64 };
        ClusterMap::new(&clusters.iter().enumerate().map(place).collect::<Vec<_>>())
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.clusters.len()
    }

    /// All clusters.
    pub fn clusters(&self) -> impl Iterator<Item = Cluster> + use<> {
        (0..self.members.len()).map(Cluster)
    }

    /// Number of clusters.
    pub fn cluster_count(&self) -> usize {
        self.members.len()
    }

    /// The cluster of a rank.
    pub fn cluster_of(&self, rank: Rank) -> Cluster {
        self.clusters[rank.0]
    }

    /// The ranks of a cluster, ascending: its own communicator has them in this order.
    pub fn members(&self, cluster: Cluster) -> &[Rank] {
        &self.members[cluster.0]
    }

    /// The clusters other than one.
    pub fn others(&self, cluster: Cluster) -> impl Iterator<Item = Cluster> + use<> {
        self.clusters().filter(move |other| *other != cluster)
    }

    /// The rank that speaks for a cluster, where the operation does not name one.
    pub fn coordinator(&self, cluster: Cluster) -> Rank {
        self.members(cluster)[0]
    }

    /// One rank of each host of a cluster: those that share the WAN.
    pub fn host_leaders(&self, cluster: Cluster) -> &[LocalRank] {
        &self.host_leaders[cluster.0]
    }

    /// The host of a rank, numbered through all clusters.
    pub fn host_of(&self, rank: Rank) -> usize {
        self.hosts[rank.0]
    }

    /// Number of hosts in all clusters.
    pub fn host_count(&self) -> usize {
        self.host_count
    }

    /// The rank within its cluster.
    pub fn local(&self, rank: Rank) -> LocalRank {
        let members = self.members(self.cluster_of(rank));
        LocalRank(members.partition_point(|member| *member < rank))
    }

    /// The rank of the whole communicator.
    pub fn global(&self, cluster: Cluster, local: LocalRank) -> Rank {
        self.members(cluster)[local.0]
    }

    /// Whether the ranks of each cluster follow each other, so that results of clusters can be combined in rank order.
    pub fn is_contiguous(&self) -> bool {
        self.clusters.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_numbered_by_their_lowest_ranks() {
        let map = ClusterMap::of_clusters(&[7, 3, 7, 9]);
        assert_eq!(map.members(Cluster(0)), [Rank(0), Rank(2)]);
        assert_eq!(map.members(Cluster(1)), [Rank(1)]);
        assert_eq!(map.cluster_of(Rank(3)), Cluster(2));
        assert_eq!((map.local(Rank(2)), map.global(Cluster(0), LocalRank(1))), (LocalRank(1), Rank(2)));
        assert!(!map.is_contiguous());
        assert!(ClusterMap::of_clusters(&[7, 7, 3]).is_contiguous());
    }

    #[test]
    fn a_host_leader_is_the_first_rank_of_its_host() {
        let place = |host| Place { cluster: 0, host };
        let map = ClusterMap::new(&[place(5), place(5), place(6), place(5), place(7)]);
        assert_eq!(map.host_leaders(Cluster(0)), [LocalRank(0), LocalRank(2), LocalRank(4)]);
    }
}
