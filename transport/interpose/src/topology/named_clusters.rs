//! Clusters named by the user in `FISHPLATE_CLUSTERS`.
//!
//! Clusters are separated by semicolons; each is a list, separated by commas, of ranks of MPI_COMM_WORLD (`0-3`, `7`) or
//! of host names, which may end with `*`.

#[derive(Debug, PartialEq, Eq)]
pub struct NamedClusters(Vec<Vec<Member>>);

#[derive(Debug, PartialEq, Eq)]
enum Member {
    Ranks(usize, usize),
    Host(String),
    /// Hosts whose names have this prefix.
    Hosts(String),
}

const SYNTAX: &str = "clusters separated by ;, each a list separated by , of ranks (0-3) or of hosts (node1, east*)";

impl NamedClusters {
    /// The error describes the syntax.
    pub fn parse(text: &str) -> Result<NamedClusters, &'static str> {
        let cluster = |text: &str| text.split(',').map(|member| Member::parse(member.trim())).collect();
        let clusters: Option<Vec<Vec<Member>>> = text.split(';').map(cluster).collect();
        clusters.map(NamedClusters).ok_or(SYNTAX)
    }

    /// The cluster of each rank, given the host of each rank. The error names a rank without a cluster.
    pub fn of_ranks(&self, hosts: &[String]) -> Result<Vec<usize>, String> {
        let find = |(rank, host): (usize, &String)| {
            let has = |cluster: &Vec<Member>| cluster.iter().any(|member| member.is(rank, host));
            let mut found = self.0.iter().enumerate().filter(|(_, cluster)| has(cluster)).map(|(index, _)| index);
            match (found.next(), found.next()) {
                (Some(index), None) => Ok(index),
                (Some(_), Some(_)) => Err(format!("rank {rank} on host {host} is in two clusters")),
                (None, _) => Err(format!("rank {rank} on host {host} is in no cluster")),
            }
        };
        hosts.iter().enumerate().map(find).collect()
    }
}

impl Member {
    fn parse(text: &str) -> Option<Member> {
        let number = |text: &str| text.parse::<usize>().ok();
        if let Some(rank) = number(text) {
            return Some(Member::Ranks(rank, rank));
        }
        if let Some((first, last)) = text.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?))) {
            return (first <= last).then_some(Member::Ranks(first, last));
        }
        let (stem, is_pattern) = text.strip_suffix('*').map_or((text, false), |stem| (stem, true));
        let fits = |c: char| c.is_alphanumeric() || "-._".contains(c);
        if stem.is_empty() || !stem.chars().all(fits) {
            return None;
        }
        Some(if is_pattern { Member::Hosts(stem.to_string()) } else { Member::Host(stem.to_string()) })
    }

    fn is(&self, rank: usize, host: &str) -> bool {
        match self {
            Member::Ranks(first, last) => (*first..=*last).contains(&rank),
            Member::Host(name) => name == host,
            Member::Hosts(stem) => host.starts_with(stem.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ranks(text: &str, hosts: &[&str]) -> Result<Vec<usize>, String> {
        let hosts: Vec<String> = hosts.iter().map(|host| host.to_string()).collect();
        NamedClusters::parse(text).unwrap().of_ranks(&hosts)
    }

    #[test]
    fn ranks_and_hosts_name_clusters() {
        let hosts = ["east1", "east2", "west-1", "far"];
        assert_eq!(of_ranks("0-1; 2,3", &hosts), Ok(vec![0, 0, 1, 1]));
        assert_eq!(of_ranks("east*;west-1,far", &hosts), Ok(vec![0, 0, 1, 1]));
        assert_eq!(of_ranks("far;east1,1;2", &hosts), Ok(vec![1, 1, 2, 0]));
    }

    #[test]
    fn every_rank_is_in_one_cluster() {
        assert_eq!(of_ranks("a;0", &["a", "b"]), Err("rank 0 on host a is in two clusters".to_string()));
        assert_eq!(of_ranks("a", &["a", "b"]), Err("rank 1 on host b is in no cluster".to_string()));
    }

    #[test]
    fn a_value_that_is_neither_is_refused() {
        for text in ["", ";", "3-1", "a b", "*", "a,,b", "a;"] {
            assert!(NamedClusters::parse(text).is_err(), "{text}");
        }
    }
}
