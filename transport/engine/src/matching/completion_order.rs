//! Messages into multi-receive buffers are reported in the order in which they matched, although a rendezvous takes longer
//! than an eager message behind it. Active messages use such buffers, and MPICH 5.0.2 loses parts of messages that it has to
//! put in order itself.

use std::collections::VecDeque;

use super::reassembly::Reassembly;

/// The messages of one peer that have matched and are not reported. The bound of the peer's RTS frames bounds them too.
#[derive(Default)]
pub struct CompletionOrder {
    /// Position of the front message.
    front: u64,
    /// `None`: not complete yet.
    reassemblies: VecDeque<Option<Reassembly>>,
}

impl CompletionOrder {
    /// Reserves the position of a message that matches now.
    pub fn reserve(&mut self) -> u64 {
        self.reassemblies.push_back(None);
        self.front + self.reassemblies.len() as u64 - 1
    }

    /// The message at a position is complete.
    pub fn completed(&mut self, position: u64, reassembly: Reassembly) {
        let place = position.checked_sub(self.front).and_then(|at| self.reassemblies.get_mut(at as usize));
        debug_assert!(place.is_some(), "a turn is taken before, and once");
        if let Some(place) = place {
            *place = Some(reassembly);
        }
    }

    /// The next message in order, if it is complete.
    pub fn next(&mut self) -> Option<Reassembly> {
        let reassembly = self.reassemblies.front_mut()?.take()?;
        self.reassemblies.pop_front();
        self.front += 1;
        Some(reassembly)
    }

    /// Removes all messages, as the peer is lost; returns the complete ones, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Reassembly> {
        self.front += self.reassemblies.len() as u64;
        std::mem::take(&mut self.reassemblies).into_iter().flatten()
    }
}
