//! Facts about the run of a trace.

use std::collections::BTreeMap;
use std::path::Path;

use fishplate_host::{HostId, Labels};
use fishplate_trace::rank_file::Header;
use fishplate_trace::{RankTrace, Trace};

/// Most ranks of a host.
pub fn ranks_per_host(trace: &Trace) -> u32 {
    let mut hosts: BTreeMap<HostId, u32> = BTreeMap::new();
    trace.ranks.iter().for_each(|rank| *hosts.entry(rank.header.host()).or_default() += 1);
    hosts.into_values().max().unwrap_or(1)
}

/// Names of the ranks' hosts.
pub fn host_labels(trace: &Trace) -> impl Fn(&RankTrace) -> String {
    let hosts = trace.ranks.iter().map(|rank| (rank.header.host(), rank.header.host.as_str()));
    let labels = Labels::of(hosts);
    move |rank| labels.label(rank.header.host(), &rank.header.host)
}

/// Whether ranks had to share processors. Emulated hosts are one machine.
pub fn is_oversubscribed(trace: &Trace) -> bool {
    // By machine, and by the processors of each that ranks may use. Unknown sets count as one.
    let mut machines: BTreeMap<&str, BTreeMap<&[u64], Sharing>> = BTreeMap::new();
    for Header { machine, processor_mask, processors, .. } in trace.ranks.iter().map(|rank| &rank.header) {
        let sharing = machines.entry(machine).or_default().entry(processor_mask).or_default();
        sharing.ranks += 1;
        sharing.processors = sharing.processors.max(*processors);
    }
    machines.values().any(|by_mask| {
        let (ranks, together) = (by_mask.values().map(|sharing| sharing.ranks).sum::<u32>(), count(by_mask.keys()));
        let is_short = |sharing: &Sharing| sharing.ranks > sharing.processors;
        by_mask.values().any(is_short) || together.is_some_and(|together| together < ranks)
    })
}

/// Ranks with common processors, and the number of these processors.
#[derive(Default)]
struct Sharing {
    ranks: u32,
    processors: u32,
}

/// Number of processors in any of these masks; `None` if a mask is unknown.
fn count<'a>(masks: impl Iterator<Item = &'a &'a [u64]>) -> Option<u32> {
    let mut union: Vec<u64> = Vec::new();
    for mask in masks {
        union.resize(union.len().max(mask.len()), 0);
        union.iter_mut().zip(*mask).for_each(|(all, one)| *all |= one);
        if mask.is_empty() {
            return None;
        }
    }
    Some(union.iter().map(|word| word.count_ones()).sum())
}

/// The program, by the name of its file.
pub fn program(trace: &Trace) -> String {
    let path = trace.ranks.first().map_or("", |rank| rank.header.program.as_str());
    Path::new(path).file_name().map_or_else(|| path.to_string(), |name| name.to_string_lossy().into_owned())
}

/// Caveats for users of the trace.
pub fn notes(trace: &Trace) -> Vec<String> {
    let mut notes = Vec::new();
    let cut = trace.ranks.iter().filter(|rank| !rank.is_whole).count();
    if cut > 0 {
        notes.push(format!("the traces of {cut} of {} ranks end before MPI_Finalize", trace.ranks.len()));
    }
    if is_oversubscribed(trace) {
        notes.push(
            "when this was recorded ranks shared processors: caches and memory were shared as well, so computation may have \
             taken longer than it would alone"
                .into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace of ranks on these hosts: machine, identity (0: of a trace of before), name.
    fn trace(hosts: &[(&str, u64, &str)]) -> Trace {
        let rank = |(rank, (machine, host, name)): (usize, &(&str, u64, &str))| RankTrace {
            header: Header {
                machine: (*machine).into(),
                host_id: HostId::of_number(*host),
                host: (*name).into(),
                ..Header::synthetic(rank as u32, hosts.len() as u32)
            },
            operations: Vec::new(),
            steps: Vec::new(),
            is_whole: true,
        };
        Trace { ranks: hosts.iter().enumerate().map(rank).collect() }
    }

    #[test]
    fn ranks_that_are_bound_to_processors_of_their_own_share_none() {
        let with = |masks: &[u64], processors: u32| {
            let mut trace = trace(&vec![("b1", 1, "node"); masks.len()]);
            for (rank, mask) in trace.ranks.iter_mut().zip(masks) {
                rank.header.processor_mask = if *mask == 0 { Vec::new() } else { vec![*mask] };
                rank.header.processors = processors;
            }
            is_oversubscribed(&trace)
        };
        assert!(!with(&[0b0001, 0b0010, 0b0100], 1));
        assert!(with(&[0b0001, 0b0001, 0b0100], 1));
        assert!(with(&[0b0011, 0b0110, 0b0001, 0b0101], 2), "four ranks on three processors");
        assert!(!with(&[0b1111; 4], 4) && with(&[0b1111; 4], 2), "as a quota says");
        assert!(with(&[0, 0], 1) && !with(&[0, 0], 2), "of a trace of before");
    }

    #[test]
    fn hosts_are_distinguished_by_more_than_names() {
        let labels = |trace: &Trace| trace.ranks.iter().map(host_labels(trace)).collect::<Vec<_>>();
        let cloned = trace(&[("b1", 1, "node"), ("b1", 1, "node"), ("b2", 2, "node")]);
        assert_eq!((ranks_per_host(&cloned), is_oversubscribed(&cloned)), (2, true));
        assert_eq!(labels(&cloned), ["node (1)", "node (1)", "node (2)"]);
        let containers = trace(&[("b1", 1, "node"), ("b1", 2, "node")]);
        assert_eq!((ranks_per_host(&containers), is_oversubscribed(&containers)), (1, true));
        let aliases = trace(&[("b1", 1, "one"), ("b1", 1, "two")]);
        assert_eq!((ranks_per_host(&aliases), labels(&aliases)), (2, vec!["one".to_string(), "two".to_string()]));
        let before = trace(&[("b1", 0, "node"), ("b2", 0, "node"), ("b1", 0, "node")]);
        assert_eq!(ranks_per_host(&before), 2);
    }
}
