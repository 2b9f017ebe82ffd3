//! The plan of a run: when additional streams are set up, and when they are shut down.

use std::fmt;

use super::faults::Fault;
use super::ids::HostId;
use super::shape::Shape;
use crate::events::{Duration, Random, Time};

/// Maximum time from the retirement of a stream to the failure of all others between the hosts.
const MAX_FAILURE_DELAY: Duration = Duration::ms(5);

/// A host changes how many connections it has to another over a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It sets one up.
    More(Streams),
    /// It retires one of its additional streams, if there is any.
    Fewer(Streams),
}

/// The streams that a host has set up to another over a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// The host that sets them up, and retires them.
    pub by: HostId,
    /// The other host.
    pub to: HostId,
    /// Which.
    pub rail: usize,
}

/// Changes and faults that go with them, each in order of time.
#[derive(Clone, Debug, Default)]
pub struct StreamChanges {
    /// Actions of hosts.
    pub changes: Vec<(Time, Change)>,
    /// Faults meanwhile.
    pub faults: Vec<(Time, Fault)>,
}

impl StreamChanges {
    /// None at all for half of the seeds, many for some.
    pub fn some(random: &mut Random, shape: Shape, until: Time) -> StreamChanges {
        let mut stream_changes = StreamChanges::default();
        let count = random.pick(&[0, 0, 0, 1, 4, 20]);
        let severs = random.pick(&[0, 0, 50]);
        (0..count).for_each(|_| stream_changes.rise_and_fall(random, shape, until, severs));
        stream_changes.changes.sort_by_key(|(at, _)| *at);
        stream_changes
    }

    /// A host sets up some streams, the other one too perhaps, and most of them are retired later, all at once. With a
    /// chance of `severs` in a hundred all others fail then.
    fn rise_and_fall(&mut self, random: &mut Random, shape: Shape, until: Time, severs: u64) {
        let by = random.index(shape.hosts);
        let to = (by + random.range(1, shape.hosts as u64) as usize) % shape.hosts;
        let streams = Streams { by: HostId(by), to: HostId(to), rail: random.index(shape.rails) };
        let back = Streams { by: streams.to, to: streams.by, rail: random.index(shape.rails) };
        let is_mutual = random.percent(30);
        let both = [streams, back];
        let begins = Time(random.below(until.0));
        let ends = begins + Duration(random.of_any_size(until.0));
        for streams in both.into_iter().take(1 + usize::from(is_mutual)) {
            for _ in 0..random.pick(&[1, 1, 2, 5]) {
                self.changes.push((begins, Change::More(streams)));
                if random.percent(80) {
                    self.changes.push((ends, Change::Fewer(streams)));
                }
            }
        }
        if random.percent(severs) {
            let at = ends + Duration(random.of_any_size(MAX_FAILURE_DELAY.0));
            self.faults.push((at, Fault::Sever(streams.by, streams.to)));
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::More(Streams { by, to, rail }) => write!(f, "{by} sets up a stream to {to} over rail {rail}"),
            Change::Fewer(Streams { by, to, rail }) => write!(f, "{by} lets go of a stream to {to} over rail {rail}"),
        }
    }
}
