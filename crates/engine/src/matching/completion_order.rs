//! The order in which messages into multi-receive buffers are reported: that in which they matched, though one that was
//! announced takes longer than one behind it that came at once. Active messages run over such buffers, and MPICH 5.0.2
//! loses parts of those that it has to put in order itself.

use std::collections::VecDeque;

use super::reassembly::Landing;

/// The messages of one peer that have matched and are not reported. Bounded like the peer's announcements.
#[derive(Default)]
pub struct Turns {
    /// Turn of the front one.
    front: u64,
    /// `None`: on its way.
    landings: VecDeque<Option<Landing>>,
}

impl Turns {
    /// The turn of a message that matches now.
    pub fn take(&mut self) -> u64 {
        self.landings.push_back(None);
        self.front + self.landings.len() as u64 - 1
    }

    /// The message has landed.
    pub fn landed(&mut self, turn: u64, landing: Landing) {
        let place = turn.checked_sub(self.front).and_then(|at| self.landings.get_mut(at as usize));
        debug_assert!(place.is_some(), "a turn is taken before, and once");
        if let Some(place) = place {
            *place = Some(landing);
        }
    }

    /// The message whose turn it is to be reported, if it has landed.
    pub fn next(&mut self) -> Option<Landing> {
        let landing = self.landings.front_mut()?.take()?;
        self.landings.pop_front();
        self.front += 1;
        Some(landing)
    }

    /// The peer is lost: all that have landed, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Landing> {
        self.front += self.landings.len() as u64;
        std::mem::take(&mut self.landings).into_iter().flatten()
    }
}
