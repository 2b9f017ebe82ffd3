//! What a trace says of its run.

use std::collections::BTreeMap;
use std::path::Path;

use fishplate_trace::Trace;

/// Most ranks of a host.
pub fn ranks_per_host(trace: &Trace) -> u32 {
    let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
    trace.ranks.iter().for_each(|rank| *hosts.entry(&rank.header.host).or_default() += 1);
    hosts.into_values().max().unwrap_or(1)
}

/// Whether ranks had to share processors. Emulated hosts are one machine.
pub fn is_oversubscribed(trace: &Trace) -> bool {
    let mut machines: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for rank in &trace.ranks {
        let (ranks, processors) = machines.entry(&rank.header.machine).or_default();
        *ranks += 1;
        *processors = (*processors).max(rank.header.processors);
    }
    machines.into_values().any(|(ranks, processors)| ranks > processors)
}

/// The program, by the name of its file.
pub fn program(trace: &Trace) -> String {
    let path = trace.ranks.first().map_or("", |rank| rank.header.program.as_str());
    Path::new(path).file_name().map_or_else(|| path.to_string(), |name| name.to_string_lossy().into_owned())
}

/// What one should know who uses it.
pub fn notes(trace: &Trace) -> Vec<String> {
    let mut notes = Vec::new();
    let cut = trace.ranks.iter().filter(|rank| !rank.is_whole).count();
    if cut > 0 {
        notes.push(format!(
            "{cut} of {} ranks did not come to MPI_Finalize: their traces end before",
            trace.ranks.len()
        ));
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
