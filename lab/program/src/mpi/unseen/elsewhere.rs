//! Traffic of a command's processes that went past the rails: an MPI may have transports of its own beside libfabric.

use fishplate_profile::notes::Elsewhere;

use super::Notes;
use crate::output::text;

/// Less is a launcher's.
const MIN_BYTES: u64 = 1 << 20;
/// Less than this part of the bytes of the rails, 1/100, goes unsaid.
const RAIL_BYTES_EACH: u64 = 100;
/// In names of rails over libfabric's providers (PROVIDER:DOMAIN), whose sockets look like those of libfabric itself.
const OF_PROVIDER: char = ':';

/// A sentence, if much went past the rails; of these name and bytes sent.
pub fn traffic_elsewhere<'a>(notes: &Notes, rails: impl Iterator<Item = (&'a str, u64)> + Clone) -> Option<String> {
    if rails.clone().any(|(name, _)| name.contains(OF_PROVIDER)) {
        return None;
    }
    let all: Vec<(&Elsewhere, bool)> = notes
        .began
        .iter()
        .filter_map(|began| Some((began.elsewhere.as_ref()?, is_of_open_mpi(began.library.as_ref()))))
        .collect();
    let (sent, received) =
        all.iter().fold((0, 0), |(sent, received), (one, _)| (sent + one.sent, received + one.received));
    let carried: u64 = rails.map(|(_, bytes)| bytes).sum();
    let (most, _) = all.iter().max_by_key(|(one, _)| one.sent + one.received)?;
    if sent.max(received) < MIN_BYTES.max(carried / RAIL_BYTES_EACH) {
        return None;
    }
    let peer = most.peer.map_or(String::new(), |peer| format!(" ({peer} and others)"));
    let hint = if all.iter().any(|(_, is_of_open_mpi)| *is_of_open_mpi) {
        "; of Open MPI it may be the transport tcp: OMPI_MCA_btl=^tcp in front of the command leaves it out"
    } else {
        ""
    };
    Some(format!(
        "{} sent {} and received {} over TCP connections to other hosts{peer} that are none of Fishplate's: without its rails, \
         failover and encryption. The MPI or the program has made them{hint}.",
        text::plural(all.len() as u64, "rank"),
        text::bytes(sent),
        text::bytes(received)
    ))
}

fn is_of_open_mpi(library: Option<&fishplate_profile::notes::Library>) -> bool {
    library.is_some_and(|library| library.version.starts_with("Open MPI"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_profile::notes::{Began, Library};

    fn says(sent: u64, rails: &[(&str, u64)], version: &str) -> Option<String> {
        let elsewhere = Some(Elsewhere { sent, received: 7, peer: "10.0.0.2".parse().ok() });
        let library = Some(Library { version: version.into(), ..Library::default() });
        let notes = Notes { began: vec![Began { elsewhere, library, ..Began::default() }], ..Notes::default() };
        traffic_elsewhere(&notes, rails.iter().copied())
    }

    #[test]
    fn much_traffic_beside_the_rails_is_reported() {
        let said = says(3_000_000, &[("r0", 100)], "Open MPI v5.0").unwrap();
        assert!(said.starts_with("1 rank sent 3.00 MB and received 7 B over TCP"), "{said}");
        assert!(said.contains("(10.0.0.2 and others)") && said.contains("OMPI_MCA_btl=^tcp"), "{said}");
        assert!(!says(3_000_000, &[], "MPICH").unwrap().contains("OMPI"));
    }

    #[test]
    fn little_traffic_or_that_of_a_possible_rail_is_not_reported() {
        assert_eq!(says(MIN_BYTES - 1, &[("r0", 0)], "MPICH"), None);
        assert_eq!(says(3_000_000, &[("r0", 400_000_000)], "MPICH"), None);
        assert_eq!(says(3_000_000, &[("tcp:r0", 0)], "MPICH"), None);
        assert_eq!(traffic_elsewhere(&Notes::default(), [("r0", 0)].into_iter()), None);
    }
}
