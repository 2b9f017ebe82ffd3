//! Invariant of atomic operations: each is applied exactly once, and those of one host to another in the order in which they
//! were posted.

use std::collections::{BTreeMap, BTreeSet};

use fishplate_engine::{Completion, Failure, Operation};

use super::{Observation, Scene, must};
use crate::transport::arithmetic::number;
use crate::transport::ids::HostId;
use crate::transport::ledger::{Command, Count};

#[derive(Default)]
pub struct Counts {
    /// Previous values of each counter, as returned by operations.
    found: BTreeSet<(HostId, u64)>,
    /// The last that operations of a host have found at another, and which operation this was.
    last: BTreeMap<(HostId, HostId), (u64, u64)>,
}

impl Counts {
    pub fn observe(&mut self, observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
        match observation {
            // Writes by a peer belong to no command.
            Observation::Completed(_, completion) if completion.operation == Operation::RemoteWrite => Ok(()),
            Observation::Completed(host, completion) => match scene.ledger.get(completion.context) {
                Some(Command::Count(count)) => self.completed(host, count, completion, scene),
                _ => Ok(()),
            },
            Observation::Finished => finished(scene),
            _ => Ok(()),
        }
    }

    fn completed(
        &mut self,
        host: HostId,
        count: &Count,
        completion: &Completion,
        scene: Scene<'_>,
    ) -> Result<(), String> {
        let (context, ledger) = (completion.context.0, scene.ledger);
        let expected = if count.fetches { Operation::FetchAtomic } else { Operation::Atomic };
        must(host == count.from && completion.operation == expected, || format!("count {context} ends as another"))?;
        must(!count.ended, || format!("count {context} ends twice"))?;
        let is_sound = ledger.is_sound(count.from, count.to);
        let excused = match &completion.result {
            Ok(()) => count.wrong.is_none() || !is_sound,
            Err(Failure::Refused(why)) => count.wrong == Some(*why) || !is_sound,
            Err(Failure::PeerLost(_)) => ledger.may_lose_each_other(count.from, count.to),
            Err(_) => false,
        };
        must(excused, || format!("count {context} ends with {:?}", completion.result))?;
        let Some(local) = count.local.filter(|_| completion.result.is_ok() && ledger.hostile.is_none()) else {
            return Ok(());
        };
        let value = number(scene.memories[host.0].contents(local));
        must(self.found.insert((count.to, value)), || format!("count {context} is not the only one to find {value}"))?;
        let (earlier, before) = self.last.insert((host, count.to), (context, value)).unwrap_or((context, value));
        // Results may come in any order.
        let in_order = (context >= earlier) == (value >= before);
        must(in_order, || format!("count {context} finds {value}, and count {earlier} found {before}"))
    }
}

/// No more than were posted have been applied, and no less than have succeeded.
fn finished(scene: Scene<'_>) -> Result<(), String> {
    let ledger = scene.ledger;
    if ledger.hostile.is_some() {
        return Ok(());
    }
    for (at, region) in ledger.counters.iter().enumerate() {
        let of_it = ledger.counts().filter(|(_, count)| count.to == HostId(at) && count.wrong.is_none());
        let (posted, succeeded) =
            of_it.fold((0, 0), |(posted, succeeded), (_, count)| (posted + 1, succeeded + u64::from(count.succeeded)));
        let value = number(scene.memories[at].contents(*region));
        let is_right = (succeeded..=posted).contains(&value);
        must(is_right, || format!("{} counts {value}: {succeeded} of {posted} succeeded", HostId(at)))?;
    }
    Ok(())
}
