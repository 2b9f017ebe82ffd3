//! Reassembly: a message that has matched a receive, the response to a read, or the result of an atomic operation, on its way
//! into user memory. Its stripes are placed in any order.

use crate::envelope::Envelope;
use crate::generational_slab::Key;
use crate::ids::{Context, MessageSeq, VcId};
use crate::intervals::Intervals;
use crate::memory::{Payload, Placement};
use crate::request::{AtomicRequest, Completion, Failure, Operation, ReadRequest};
use crate::wire::Refusal;

use super::receive::{MatchedReceive, Posted};

#[derive(Debug)]
pub struct Reassembly {
    pub vc: VcId,
    /// Key of the multi-receive buffer that it goes into, if it is one.
    pub multi: Option<Key<Posted>>,
    /// Its position in the completion order, if it goes into a multi-receive buffer.
    pub report_position: Option<u64>,
    /// Its sequence number, if it has early data.
    pub early_data: Option<MessageSeq>,
    envelope: Envelope,
    data: Option<u64>,
    /// Length of the message, in bytes.
    len: u64,
    place: Payload,
    /// Bytes of the message that are wanted: its length, but no more than the buffer's.
    wanted: u64,
    /// Why the peer has refused a read or an atomic operation.
    refused: Option<Refusal>,
    operation: Operation,
    /// Bytes of operands of an atomic operation, and its number among those posted to the peer.
    operands: u32,
    number: u64,
    /// Number of bytes whose headers have come.
    announced: u64,
    pieces: Intervals,
    /// Number of bytes that are in place.
    placed: u64,
    context: Context,
    notify: bool,
}

/// A stripe outside of what the CTS allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPlace;

impl Reassembly {
    /// A message of `len` bytes that a receive has taken.
    pub fn new(taken: MatchedReceive, vc: VcId, envelope: Envelope, data: Option<u64>, len: u64) -> Self {
        let wanted = len.min(taken.place.len());
        Reassembly {
            vc,
            multi: taken.multi,
            report_position: None,
            early_data: None,
            envelope,
            data,
            len,
            place: taken.place,
            wanted,
            refused: None,
            operation: Operation::Recv,
            operands: 0,
            number: 0,
            announced: 0,
            pieces: Intervals::default(),
            placed: 0,
            context: taken.context,
            notify: taken.notify,
        }
    }

    /// The response to a read of a peer's memory.
    pub fn of_read(read: ReadRequest) -> Self {
        let ReadRequest { vc, buffer, notify, context, .. } = read;
        let len = buffer.len();
        let taken = MatchedReceive { place: buffer, context, notify, multi: None };
        Reassembly { operation: Operation::Read, ..Reassembly::new(taken, vc, Envelope::Message, None, len) }
    }

    /// The result of atomic operation `number`. Operations without a result have a reassembly too, for their completion.
    pub fn of_atomic(request: AtomicRequest, number: u64) -> Self {
        let AtomicRequest { vc, what, result, notify, context, .. } = request;
        let len = result.len();
        let taken = MatchedReceive { place: result, context, notify, multi: None };
        let operation = if what.fetches() { Operation::FetchAtomic } else { Operation::Atomic };
        let operands = what.operands_len() as u32;
        Reassembly { operation, operands, number, ..Reassembly::new(taken, vc, Envelope::Message, None, len) }
    }

    /// Bytes of operands; `None` unless this is an atomic operation.
    #[inline]
    pub fn atomic_operands(&self) -> Option<u64> {
        matches!(self.operation, Operation::Atomic | Operation::FetchAtomic).then_some(self.operands.into())
    }

    /// The number of the operation; `None` unless this is an atomic operation.
    #[inline]
    pub fn atomic_number(&self) -> Option<u64> {
        self.atomic_operands().map(|_| self.number)
    }

    /// Whether this is an atomic operation without a result.
    pub fn is_atomic_without_result(&self) -> bool {
        self.operation == Operation::Atomic
    }

    pub fn wanted(&self) -> u64 {
        self.wanted
    }

    /// How many of `len` bytes from `offset` on are wanted.
    pub fn wanted_of(&self, offset: u64, len: u64) -> u64 {
        len.min(self.wanted.saturating_sub(offset))
    }

    pub fn place(&self) -> &Payload {
        &self.place
    }

    /// The whole message follows. Returns its destination.
    pub fn place_all(&mut self) -> Placement {
        self.announced = self.wanted;
        if self.wanted == 0 { Placement::Discard } else { Placement::User(self.place.clone()) }
    }

    /// `len` bytes from `offset` follow. Returns their destination. No bytes are accepted twice, so that nothing is still being
    /// written when all are placed.
    pub fn place_stripe(&mut self, offset: u64, len: u64) -> Result<Placement, OutOfPlace> {
        let end = offset.checked_add(len).ok_or(OutOfPlace)?;
        if len == 0 || end > self.wanted || self.announced + len > self.wanted {
            return Err(OutOfPlace);
        }
        self.pieces.add(offset, end).map_err(|_| OutOfPlace)?;
        self.announced += len;
        Ok(Placement::User(self.place.slice(offset, len)))
    }

    /// [`Reassembly::place_stripe`] for early data, which may exceed the buffer, as the peer did not know its length. Also returns how
    /// many of these bytes are wanted.
    pub fn place_early_data(&mut self, offset: u64, len: u64) -> Result<(Placement, u64), OutOfPlace> {
        offset.checked_add(len).ok_or(OutOfPlace)?;
        let wanted = self.wanted_of(offset, len);
        if wanted == 0 {
            return Ok((Placement::Discard, 0));
        }
        Ok((self.place_stripe(offset, wanted)?, wanted))
    }

    /// `len` bytes of the message are in place, or dropped as unwanted. True if the message is complete.
    pub fn placed(&mut self, len: u64) -> bool {
        self.placed += len;
        self.placed >= self.wanted
    }

    /// Whether the headers of all of these bytes have come, in stripes or pieces.
    pub fn contains(&self, offset: u64, len: u64) -> bool {
        len > 0 && offset.checked_add(len).is_some_and(|end| self.pieces.contains(offset, end))
    }

    /// The payload of a piece was cut off: it will be retransmitted.
    pub fn unplace(&mut self, offset: u64, len: u64) {
        self.pieces.remove(offset, offset + len);
        self.announced -= len;
    }

    /// Length of the message, in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The peer refuses this read or atomic operation. False if it is neither.
    pub fn refuse(&mut self, why: Refusal) -> bool {
        self.refused = Some(why);
        self.operation != Operation::Recv
    }

    /// The completion to report; `None` for a success without `notify`.
    pub fn completion(&self, buffer_released: bool, failure: Option<Failure>) -> Option<Completion> {
        let excess = self.len - self.wanted;
        let failure = failure.or(self.refused.map(Failure::Refused));
        let failure = failure.or((excess > 0).then_some(Failure::Truncated { excess }));
        let reported = self.notify || failure.is_some() || buffer_released;
        reported.then(|| Completion {
            context: self.context,
            operation: self.operation,
            envelope: self.envelope,
            data: self.data,
            len: self.wanted,
            source: (self.operation == Operation::Recv).then_some(self.vc),
            placed: self.place.extents().first().copied().filter(|_| self.operation == Operation::Recv),
            buffer_released,
            result: failure.map_or(Ok(()), Err),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Region;

    fn reassembly(len: u64, allowance: u64) -> Reassembly {
        let place = Payload::whole(Region(7), allowance);
        let taken = MatchedReceive { place, context: Context(1), notify: true, multi: None };
        Reassembly::new(taken, VcId(0), Envelope::Tagged(3), None, len)
    }

    #[test]
    fn stripes_land_in_any_order_and_only_where_they_belong() {
        let mut reassembly = reassembly(100, 100);
        assert!(reassembly.place_stripe(60, 40).is_ok());
        assert_eq!(reassembly.place_stripe(90, 20), Err(OutOfPlace));
        assert_eq!(reassembly.place_stripe(u64::MAX, 2), Err(OutOfPlace));
        assert_eq!(reassembly.place_stripe(0, 0), Err(OutOfPlace));
        assert_eq!(reassembly.place_stripe(50, 11), Err(OutOfPlace), "byte 60 is there");
        assert!(reassembly.place_stripe(0, 60).is_ok());
        assert_eq!(reassembly.place_stripe(0, 1), Err(OutOfPlace));
        assert!(!reassembly.placed(40));
        assert!(reassembly.placed(60));
    }

    #[test]
    fn a_piece_that_was_cut_off_comes_again() {
        let mut reassembly = reassembly(100, 100);
        assert!(reassembly.place_stripe(0, 60).is_ok());
        assert!(reassembly.contains(0, 60) && !reassembly.contains(0, 61));
        reassembly.unplace(0, 60);
        assert!(reassembly.place_stripe(60, 40).is_ok());
        assert!(!reassembly.placed(40));
        assert!(reassembly.place_stripe(0, 60).is_ok());
        assert!(reassembly.placed(60));
    }

    #[test]
    fn a_long_message_is_truncated() {
        let mut reassembly = reassembly(100, 30);
        assert_eq!(reassembly.wanted(), 30);
        assert!(matches!(reassembly.place_all(), Placement::User(_)));
        assert!(reassembly.placed(100));
        let completion = reassembly.completion(false, None).unwrap();
        assert_eq!((completion.len, completion.result), (30, Err(Failure::Truncated { excess: 70 })));
    }
}
