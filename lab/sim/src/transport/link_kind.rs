//! What each kind of link is to the drivers at its two ends, for one of its two directions: what `Link` is in
//! `transport/link-core`. A [stream](super::flow) is one kind, [shared memory](super::memory_flow) the other.

use std::fmt::Debug;

use fishplate_engine::Payload;

use super::data::Data;
use super::frame::{Frame, Segment};
use super::memory::Memory;
use crate::events::{Duration, Time};

/// State of the driver's queue of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// The link has everything.
    All,
    /// It takes no more for now.
    Blocked,
}

/// The receiver says that it acknowledges frames that were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverSent;

/// One direction of a link. Its sender pushes frames, which it has to deliver; its receiver reads them in their order.
pub trait LinkKind: Debug {
    /// Whether both ends see the memory that it is: its engines then prefer it, and learn what was delivered.
    fn is_in_memory(&self) -> bool;

    /// The sender's driver has a frame for it. The engine's budget bounds what waits.
    fn push(&mut self, now: Time, frame: Frame, memory: &mut Memory);

    /// Sends what it can of what waits.
    fn flush(&mut self, now: Time, memory: &mut Memory) -> Flushed;

    /// Whether frames wait in the sender's driver.
    fn has_waiting(&self) -> bool;

    /// Whether everything that was pushed has arrived.
    fn is_delivered(&self) -> bool {
        !self.has_waiting()
    }

    /// Whether it takes anything.
    fn has_room(&self) -> bool;

    /// Whether there is something for the sender's driver: room that it waits for, or news of what was taken.
    fn wants_sender(&self) -> bool;

    /// Copies waiting data of memory that ends. False if the receiver may still read from the memory.
    fn detach(&mut self, ended: &Payload, memory: &mut Memory) -> bool;

    /// Whether the receiver may yet read of `payload`, which is the sender's memory.
    fn has_lent(&self, _payload: &Payload) -> bool {
        false
    }

    /// Whether a message of `len` bytes would be sent at once, in one record and as a copy.
    fn takes_copy(&self, _len: u64, _is_borrowed: bool) -> bool {
        false
    }

    /// How many counted frames the receiver has taken, as far as the sender's driver sees now, if that is news.
    fn look(&mut self) -> Result<Option<u32>, NeverSent> {
        Ok(None)
    }

    /// The payload of counted frame number `frame`, which only this link has.
    fn recover(&self, _frame: u32) -> Option<Data> {
        None
    }

    /// Takes in what has arrived by `now`.
    fn arrive(&mut self, now: Time);

    /// Whether there is something to read.
    fn has_unread(&self) -> bool;

    /// The oldest of what has arrived.
    fn read(&mut self, now: Time) -> Option<Segment>;

    /// Data to be read again: a planted bug.
    fn read_again(&mut self) {}

    /// Whether what a segment names of the sender's memory may be read: not once the sender has ended the link, or itself.
    fn is_lender_there(&self) -> bool {
        false
    }

    /// The receiver's driver has read as much as it wanted: notifies the sender, `excess` slots too many.
    fn publish(&mut self, _now: Time, _excess: u32) {}

    /// Bytes that have arrived since this was asked last, if any, and after how long the sender's kernel learns of them.
    fn take_acknowledgement(&mut self) -> Option<(u64, Duration)> {
        None
    }

    /// Whether it matters when the sender's kernel learns of what has arrived.
    fn is_paced(&self) -> bool {
        false
    }

    /// The sender's kernel received an acknowledgement of this number of bytes.
    fn acknowledged(&mut self, _bytes: u64) {}

    /// When something happens by itself next.
    fn next_event(&self, now: Time) -> Option<Time>;

    /// Breaks the link: of the data in flight, only `bytes` bytes arrive, if the link can lose data.
    fn cut(&mut self, now: Time, bytes: u64);

    /// Whether it is broken.
    fn is_cut(&self) -> bool;

    /// The sender's driver closes its side, or its process has ended: what it has not sent is dropped.
    fn close(&mut self);

    /// The sender's driver shuts it in good order: what it has sent arrives, and then its end.
    fn shut(&mut self, now: Time, nothing: Data);

    /// No data arrives before `until`.
    fn stall(&mut self, until: Time);

    /// Slows the link down by a factor, with an additional delay.
    fn slow(&mut self, now: Time, factor: u64, more_delay: Duration);

    /// As it was at first, from `now` on.
    fn heal(&mut self, now: Time);
}
