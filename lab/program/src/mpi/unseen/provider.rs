//! Why no process has left counters, although its command ended well: the provider was not loaded, or not used.

use std::collections::BTreeSet;
use std::path::Path;

use fishplate_profile::notes::{Began, Library};

use super::{Notes, causes, obstacles_of};
use crate::mpi::{interposer, one_host};
use crate::output::text;

/// At least one sentence. `variables`: what the command was started with; `counters`: the file for them.
pub fn why_unused(command: &[String], notes: &Notes, variables: &[(String, String)], counters: &Path) -> Vec<String> {
    let begun: Vec<(&Began, &Library)> =
        notes.began.iter().filter_map(|began| Some((began, began.library.as_ref()?))).collect();
    let are_of_open_mpi = begun.first().is_some_and(|(_, library)| library.version.starts_with("Open MPI"));
    if are_of_open_mpi && one_host::is_left_to_open_mpi(variables) {
        return vec![format!(
            "{} of Open MPI, all on this host: its own shared memory carries their messages (OMPI_MCA_pml=cm in front of the \
             command sends them through Fishplate)",
            ranks(begun.len())
        )];
    }
    if let Some((first, _)) = begun.first() {
        let loaded = why_not_loaded(&begun).unwrap_or_else(|| why_silent(&begun, counters));
        return [Some(loaded), elsewhere(first.ranks, begun.len())].into_iter().flatten().collect();
    }
    if variables.iter().any(|(name, _)| name == interposer::PRELOAD) {
        let why = causes(command, notes).join("; ");
        return vec![format!("no process called MPI with Fishplate's library in front of it: {why}")];
    }
    let obstacles = obstacles_of(command);
    let unknown = "the library that observes programs is not in front of MPI (--collectives native), and nothing in the files \
        of the command's programs explains it";
    if obstacles.is_empty() { vec![unknown.into()] } else { obstacles }
}

/// Obstacles between processes and the provider: another one was chosen, or theirs was not loaded.
fn why_not_loaded(begun: &[(&Began, &Library)]) -> Option<String> {
    let libraries = || begun.iter().map(|(_, library)| *library);
    let who = |those: &[&Library]| format!("{} of \"{}\" began MPI", ranks(those.len()), those[0].version);
    let is_asked_for = |library: &&Library| library.fi_provider.split(',').any(|name| name == "fishplate");
    let others: Vec<&Library> = libraries().filter(|library| !is_asked_for(library)).collect();
    if let Some(Library { fi_provider, .. }) = others.first() {
        let set = format!("FI_PROVIDER=\"{fi_provider}\", which something in the command has set");
        let how = if fi_provider.is_empty() { "FI_PROVIDER did not reach them" } else { &set };
        return Some(format!("{} with another provider: {how}", who(&others)));
    }
    let without: Vec<&Library> = libraries().filter(|library| !library.has_provider).collect();
    let Library { has_libfabric, .. } = without.first()?;
    let why = match has_libfabric {
        true => "the MPI or its libfabric did not load it (FI_LOG_LEVEL=info shows why)",
        false => "that MPI has loaded no libfabric (MPICH: its device must be ch4:ofi)",
    };
    Some(format!("{} without Fishplate's provider: {why}", who(&without)))
}

/// Findings about processes that have loaded the provider.
fn why_silent(begun: &[(&Began, &Library)], counters: &Path) -> String {
    let who = format!("{} loaded Fishplate's provider", ranks(begun.len()));
    let mut stats = begun.iter().map(|(_, library)| library.stats.as_str());
    if let Some(other) = stats.find(|stats| Path::new(stats) != counters) {
        return format!("{who}, with FISHPLATE_STATS=\"{other}\", which something in the command has set");
    }
    let hosts: BTreeSet<_> = begun.iter().filter_map(|(began, _)| began.host).collect();
    let on = text::plural(hosts.len() as u64, "host");
    let hint = match hosts.len() {
        1 => {
            "; on one host an MPI can do with shared memory alone (Intel MPI: I_MPI_FABRICS=ofi sends all through Fishplate)"
        }
        _ => "",
    };
    format!("{who} on {on}, and closed no endpoint of it before they ended{hint}")
}

/// The limits of ranks that left no note.
fn elsewhere(ranks: Option<usize>, begun: usize) -> Option<String> {
    let others = ranks?.checked_sub(begun).filter(|others| *others > 0)?;
    Some(format!(
        "{} left no note on this host: on other hosts counters need a file that all can write to (--stats)",
        self::ranks(others)
    ))
}

fn ranks(count: usize) -> String {
    text::plural(count as u64, "rank")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_host::HostId;

    fn note(host: u64, ranks: usize, has_provider: bool, has_libfabric: bool, fi_provider: &str) -> Began {
        let (version, fi_provider, stats) = ("MPICH 5".into(), fi_provider.into(), "/stats".into());
        let library = Some(Library { version, has_libfabric, has_provider, fi_provider, stats });
        Began { host: HostId::of_number(host), ranks: Some(ranks), library, ..Began::default() }
    }

    #[test]
    fn notes_of_processes_are_reported() {
        let says = |began: Vec<Began>| {
            let notes = Notes { began, ..Notes::default() };
            why_unused(&["true".into()], &notes, &[], Path::new("/stats")).join("; ")
        };
        let one_host = says(vec![note(1, 2, true, false, "fishplate"), note(1, 2, true, false, "fishplate")]);
        let begin =
            "2 ranks loaded Fishplate's provider on 1 host, and closed no endpoint of it before they ended; on one";
        assert!(one_host.starts_with(begin), "{one_host}");
        let mut misled = note(1, 1, true, false, "fishplate");
        misled.library.as_mut().unwrap().stats = "/other".into();
        let said = says(vec![misled]);
        assert!(said.starts_with("1 rank loaded Fishplate's provider, with FISHPLATE_STATS=\"/other\""), "{said}");
        let left = [("OMPI_MCA_pml".to_string(), "ob1".to_string())];
        let left_to = |version: &str| {
            let mut began = note(1, 1, false, false, "fishplate");
            began.library.as_mut().unwrap().version = version.into();
            let notes = Notes { began: vec![began], ..Notes::default() };
            why_unused(&["true".into()], &notes, &left, Path::new("/stats")).join("; ")
        };
        let said = left_to("Open MPI v5");
        assert!(said.starts_with("1 rank of Open MPI, all on this host: its own shared memory"), "{said}");
        assert!(left_to("MPICH 5").starts_with("1 rank of \"MPICH 5\" began MPI without"));
        let lacks = |has_libfabric, fi_provider| says(vec![note(1, 1, false, has_libfabric, fi_provider)]);
        let who = "1 rank of \"MPICH 5\" began MPI without Fishplate's provider: ";
        let other = "1 rank of \"MPICH 5\" began MPI with another provider: ";
        assert!(lacks(false, "fishplate").starts_with(&format!("{who}that MPI has loaded no libfabric")));
        assert!(lacks(true, "fishplate").starts_with(&format!("{who}the MPI or its libfabric did not load it")));
        assert!(lacks(true, "tcp").starts_with(&format!("{other}FI_PROVIDER=\"tcp\", which something in the command")));
        assert!(lacks(true, "").starts_with(&format!("{other}FI_PROVIDER did not reach them")));
        let others = says(vec![note(1, 4, true, false, "fishplate")]);
        assert!(others.contains("; 3 ranks left no note on this host"), "{others}");
        assert!(!one_host.contains("no note"), "{one_host}");
        let several = says(vec![note(1, 2, true, false, "fishplate"), note(2, 2, true, false, "fishplate")]);
        let expected = "2 ranks loaded Fishplate's provider on 2 hosts, and closed no endpoint of it before they ended";
        assert_eq!(several, expected);
    }

    #[test]
    fn without_notes_the_command_is_looked_at() {
        let preloaded = [(interposer::PRELOAD.to_string(), "/x.so".to_string())];
        let says = |variables: &[(String, String)]| {
            why_unused(&["true".into()], &Notes::default(), variables, Path::new("/stats")).join("; ")
        };
        let said = says(&preloaded);
        assert!(said.starts_with("no process called MPI with Fishplate's library in front of it: it was"), "{said}");
        assert!(says(&[]).contains("--collectives native"), "{}", says(&[]));
    }
}
