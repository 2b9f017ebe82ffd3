//! Programs whose ranks call the collective operations of a communicator in different orders. MPI does not allow it
//! (MPI-4.1, section 6.12); where none of these calls waits for all ranks, a library may carry it out all the same.

use std::collections::BTreeMap;

use fishplate_trace::{CollectiveKind, Epoch, Operation, RankTrace, Trace};

/// A call of a rank: where it is in the trace.
struct Call {
    rank: usize,
    step: usize,
    kind: Kind,
}

/// Attributes that must be equal on all ranks.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Collective(CollectiveKind),
    Fence,
}

/// The first such difference that is found, in words.
pub fn difference(trace: &Trace) -> Option<String> {
    // By context of a communicator, and number of the operation on it.
    let mut first: BTreeMap<(u64, u32), Call> = BTreeMap::new();
    for (rank, of_rank) in trace.ranks.iter().enumerate() {
        for (place, step, kind) in collectives(of_rank) {
            let call = Call { rank, step, kind };
            match first.get(&place) {
                Some(other) if other.kind != call.kind => return Some(told(other, &call)),
                Some(_) => {}
                None => drop(first.insert(place, call)),
            }
        }
    }
    None
}

/// The collective operations of a rank on communicators that are known.
fn collectives(rank: &RankTrace) -> impl Iterator<Item = ((u64, u32), usize, Kind)> + '_ {
    let mut known: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
    rank.steps.iter().enumerate().filter_map(move |(step, one)| {
        let (number, kind) = match &rank.operations[one.operation as usize] {
            Operation::Communicator { number, context, .. } => {
                known.insert(*number, (*context, 0));
                return None;
            }
            Operation::Collective(operation) => (operation.communicator, Kind::Collective(operation.kind)),
            Operation::Epoch { window, kind: Epoch::Fence } => (*window, Kind::Fence),
            _ => return None,
        };
        let (context, count) = known.get_mut(&number).filter(|(context, _)| *context != 0)?;
        *count += 1;
        Some(((*context, *count), step, kind))
    })
}

fn told(one: &Call, other: &Call) -> String {
    let what = |Call { rank, step, kind }: &Call| {
        let kind = match kind {
            Kind::Collective(CollectiveKind::Make) => "the creation of a communicator or a window".into(),
            Kind::Collective(kind) => format!("{kind:?}").to_lowercase(),
            Kind::Fence => "fence".to_string(),
        };
        format!("call {} of rank {rank} is {kind}", step + 1)
    };
    format!(
        "ranks call the collective operations of a communicator in different orders, which MPI does not allow, so this cannot be \
         replayed (calls that failed are left out): {}, and {}",
        what(one),
        what(other)
    )
}
