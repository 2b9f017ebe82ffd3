//! Two endpoints of this process, and whom their connections pass.

use std::sync::MutexGuard;

use fishplate_engine::{Completion, VcId};
use fishplate_rails::{Endpoint, Settings};

use super::between::Between;
use super::{close_all, loss, next, open, recv, send};

pub struct Pair {
    pub ends: [Endpoint; 2],
    /// What each calls the other, if it has been told of it.
    pub names: [Option<VcId>; 2],
    pub between: Between,
    /// Of the last message.
    pub tag: u64,
    /// Held where one pair may be open at a time.
    pub alone: Option<MutexGuard<'static, ()>>,
}

impl Pair {
    /// Two that know each other.
    pub fn open(settings: [Settings; 2]) -> Pair {
        let mut ends = settings.map(|settings| open(&settings));
        let addresses = [1, 0].map(|at: usize| ends[at].address().clone());
        let names = [0, 1].map(|at: usize| Some(ends[at].peer(&addresses[at])));
        Pair { ends, names, between: Between::new(), tag: 0, alone: None }
    }

    /// Two that reach each other through somebody else. `is_known`: the second has been told of the first.
    pub fn through(settings: [Settings; 2], is_known: bool) -> Pair {
        let (mut ends, mut between) = (settings.map(|settings| open(&settings)), Between::new());
        let ways = [0, 1].map(|at: usize| between.way_to(ends[at].address()));
        let back = is_known.then(|| ends[1].peer(&ways[0]));
        let names = [Some(ends[0].peer(&ways[1])), back];
        Pair { ends, names, between, tag: 0, alone: None }
    }

    /// What one calls the other.
    pub fn name(&self, end: usize) -> VcId {
        self.names[end].expect("it has not been told of the other")
    }

    /// The first sends bytes to the second, where they arrive unchanged, and knows that they have.
    pub fn carry(&mut self, bytes: &[u8]) {
        self.carry_from(0, bytes, |_| ());
    }

    /// As [`Pair::carry`] from either, while `disturb` is called in each round.
    pub fn carry_from(&mut self, from: usize, bytes: &[u8], mut disturb: impl FnMut(usize)) {
        self.tag += 1;
        let (tag, to) = (self.tag, 1 - from);
        let mut got = vec![0; bytes.len()];
        recv(&mut self.ends[to], tag, &mut got, self.names[to]);
        let vc = self.name(from);
        send(&mut self.ends[from], vc, tag, bytes).unwrap();
        let mut round = 0;
        super::until_ended(&mut self.ends, 2, || {
            self.between.pass();
            disturb(round);
            round += 1;
        });
        assert!(std::hint::black_box(got) == bytes, "message {tag} of {} bytes has arrived changed", bytes.len());
    }

    /// Both make progress until `operations` have ended, which must succeed.
    pub fn until_ended(&mut self, operations: usize) {
        super::until_ended(&mut self.ends, operations, || self.between.pass());
    }

    /// The next completion of any of both.
    pub fn next(&mut self) -> Completion {
        next(&mut self.ends, || self.between.pass()).1
    }

    /// Why the second refuses the first, as the failure of a message says.
    pub fn refusal(&mut self) -> String {
        let vc = self.name(0);
        send(&mut self.ends[0], vc, 1, b"a message that nobody gets").unwrap();
        loss(&self.next())
    }

    pub fn close(self) {
        close_all(self.ends);
    }
}
