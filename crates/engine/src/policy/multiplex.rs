//! What the scheduler asks of a multiplexing policy.

use super::view::View;

/// Spreads whole messages.
pub trait Multiplex: Send {
    /// Position in `views` of the subchannel that carries the next message, of `len` bytes, when `pending` bytes in
    /// all wait in the virtual channel. `None`: wait until a subchannel opens or drains.
    fn choose(&mut self, len: u64, pending: u64, views: &[View]) -> Option<usize>;

    /// Up to how many bytes in flight over the subchannel at `position`, which was just chosen, it would be chosen again,
    /// while nothing else changes. `None`: ask again for each message.
    fn valid_up_to(&self, _position: usize, _views: &[View]) -> Option<u64> {
        None
    }

    /// Its name and present state, for people.
    fn explain(&self) -> String;
}
