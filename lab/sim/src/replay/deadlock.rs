//! Why a program does not go on: what each rank waits for.

use fishplate_trace::{CollectiveKind, Operation, RankTrace, Trace};

use super::{Places, order};

/// Maximum number of ranks in a description.
const MAX_LISTED: usize = 8;

/// Ranks that wait for ever, and for what.
pub fn describe(trace: &Trace, ranks: &[u32], places: &Places) -> String {
    if let Some(difference) = order::difference(trace) {
        return difference;
    }
    let one = |rank: &u32| {
        let (trace, at) = (&trace.ranks[*rank as usize], places[*rank as usize].get());
        format!("rank {rank} in call {} of {}: {}", at + 1, trace.steps.len(), waits_for(trace, at))
    };
    let incomplete = trace.ranks.iter().filter(|rank| !rank.is_whole).count();
    let hint = if incomplete > 0 {
        format!(" ({incomplete} of the traces end before MPI_Finalize, so messages are missing)")
    } else {
        String::new()
    };
    listed(ranks, &hint, one)
}

/// Ranks that wait for ever, the first of them in words.
pub fn listed(ranks: &[u32], hint: &str, one: impl Fn(&u32) -> String) -> String {
    let told: Vec<String> = ranks.iter().take(MAX_LISTED).map(one).collect();
    let more =
        if ranks.len() > MAX_LISTED { format!("; and {} more", ranks.len() - MAX_LISTED) } else { String::new() };
    format!("ranks wait for ever{hint}: {}{more}", told.join("; "))
}

/// Describes a rank's call.
fn waits_for(trace: &RankTrace, at: usize) -> String {
    let Some(step) = trace.steps.get(at) else { return "its end".into() };
    match &trace.operations[step.operation as usize] {
        Operation::Send(send) => format!("sends {} B to rank {} with tag {}", send.bytes, send.to, send.tag),
        Operation::Receive(receive) => received(receive.from, receive.tag),
        Operation::Exchange(send, receive) => {
            format!("sends {} B to rank {} and {}", send.bytes, send.to, received(receive.from, receive.tag))
        }
        Operation::Wait(completed) => {
            let requests: Vec<String> = completed.iter().take(MAX_LISTED).map(|one| one.request.to_string()).collect();
            let posted = completed.iter().find_map(|one| poster(trace, at, one.request));
            let what = posted.map_or(String::new(), |what| format!(", of which one {what}"));
            format!("waits for {} (requests {}{what})", completed.len(), requests.join(", "))
        }
        Operation::Collective(operation) => {
            let what = if operation.kind == CollectiveKind::Make {
                "makes a communicator".into()
            } else {
                format!("{:?}", operation.kind).to_lowercase()
            };
            format!("{what} on communicator {}", operation.communicator)
        }
        Operation::OneSided { target, .. } => format!("accesses the window of rank {target}"),
        Operation::Epoch { .. } => "synchronizes a window".into(),
        Operation::Flush | Operation::FlushCommunicator { .. } => "waits for buffered sends".into(),
        Operation::Communicator { .. } | Operation::Thread { .. } | Operation::End => "comes to its end".into(),
    }
}

fn received(from: Option<u32>, tag: Option<i32>) -> String {
    let from = from.map_or("any rank".into(), |from| format!("rank {from}"));
    let tag = tag.map_or("any tag".into(), |tag| format!("tag {tag}"));
    format!("receives from {from} with {tag}")
}

/// Describes the last request created with this number.
fn poster(trace: &RankTrace, before: usize, request: u32) -> Option<String> {
    trace.steps[..before].iter().rev().find_map(|step| match &trace.operations[step.operation as usize] {
        Operation::Receive(receive) if receive.request == Some(request) => Some(received(receive.from, receive.tag)),
        Operation::Send(send) if send.request == Some(request) => Some(format!("sends to rank {}", send.to)),
        _ => None,
    })
}
