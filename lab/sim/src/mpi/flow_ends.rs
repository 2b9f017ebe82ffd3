//! The two ends of a flow: its sender and receiver, and what has been acknowledged.

use std::collections::VecDeque;

use fishplate_engine::SubchannelId;
use fishplate_engine::wire::Body;

use crate::models::time::Time;

/// Short frames that are parts of one offload frame come at once; the kernel's model passes them on one by one, each a
/// few nanoseconds later.
const TOGETHER: Time = Time(100_000);
/// No time at which anything happens.
const NEVER: Time = Time(u64::MAX);

/// Where a flow begins and ends.
#[derive(Clone, Debug)]
pub struct FlowEnds {
    pub from: u32,
    pub from_subchannel: SubchannelId,
    pub to: u32,
    pub to_subchannel: SubchannelId,
    /// Counted frames that the receiver's adapter or kernel has acknowledged.
    pub acknowledged: u32,
    /// When the receiver's last read call begins or began; before the first one, never.
    fetches_at: Time,
    /// Bytes handed to the flow that have not left the sender's adapter, where its queue is limited.
    pub queued: u64,
    /// Frames of each read call that the receiver has not handled, in the order of calls, where drivers read sockets.
    fetched: Option<Box<ReadCalls>>,
    /// Credit as the peer advertised it last.
    pub credit: u32,
    /// Unit of the last frame, and the number of changes of unit so far.
    carried: Option<Carried>,
    group: u32,
    /// Buffers that the sender copies for the kernel.
    pub unwritten: u8,
    /// Its connection is broken.
    pub is_cut: bool,
}

/// Frames of each read call.
#[derive(Clone, Debug, Default)]
struct ReadCalls(VecDeque<u32>);

/// Unit that consecutive frames may share: one message, one descriptor of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carried {
    /// A message by its position.
    Message(u32),
    /// The data of a matched receive.
    Receive(u64),
    Write(u64),
}

impl FlowEnds {
    /// The ends of a new flow between two subchannels, each with its process.
    pub fn new((from, from_subchannel): (u32, SubchannelId), (to, to_subchannel): (u32, SubchannelId)) -> FlowEnds {
        FlowEnds {
            from,
            from_subchannel,
            to,
            to_subchannel,
            acknowledged: 0,
            fetches_at: NEVER,
            queued: 0,
            fetched: None,
            credit: 0,
            carried: None,
            group: 0,
            unwritten: 0,
            is_cut: false,
        }
    }

    /// Its connection was re-established.
    pub fn renew(&mut self) {
        *self = FlowEnds::new((self.from, self.from_subchannel), (self.to, self.to_subchannel));
    }

    /// The peer acknowledges and advertises credit. The adapter may know of later ones than this header has.
    pub fn acknowledgement_received(&mut self, ack: u32, credit: u32) {
        self.acknowledged = newest(self.acknowledged, ack);
        self.credit = newest(self.credit, credit);
    }

    /// A frame has arrived, and the receiver is free at `free`. Returns whether it needs a read call of its own: a call
    /// reads everything that has arrived before it begins. `reads_sockets`: the receiver handles what a call has read
    /// together.
    pub fn fetch(&mut self, now: Time, free: Time, reads_sockets: bool) -> bool {
        let with_another = self.fetches_at != NEVER && now <= self.fetches_at + TOGETHER;
        if reads_sockets {
            let ReadCalls(fetched) = &mut **self.fetched.get_or_insert_default();
            match fetched.back_mut().filter(|_| with_another) {
                Some(frames) => *frames += 1,
                None => fetched.push_back(1),
            }
        }
        if !with_another {
            self.fetches_at = free.later(now);
        }
        !with_another
    }

    /// The receiver has handled a frame. Returns whether it was the last of its read call.
    pub fn handled_is_last(&mut self) -> bool {
        let Some(ReadCalls(fetched)) = self.fetched.as_deref_mut() else { return true };
        let Some(frames) = fetched.front_mut() else { return true };
        *frames -= 1;
        let is_last = *frames == 0;
        if is_last {
            fetched.pop_front();
        }
        is_last
    }

    /// The group that a frame belongs to.
    pub fn group(&mut self, body: &Body) -> u32 {
        let carried = match body {
            Body::RequestToSend { seq, early: 1.., .. } | Body::EarlyData { seq, .. } => Some(Carried::Message(seq.0)),
            Body::Stripe { receive, .. } => Some(Carried::Receive(receive.0)),
            Body::Write { write, .. } => Some(Carried::Write(write.0)),
            _ => None,
        };
        if carried.is_none() || carried != self.carried {
            self.group = self.group.wrapping_add(1);
        }
        self.carried = carried;
        self.group
    }
}

/// The later of two counts modulo 2^32.
fn newest(a: u32, b: u32) -> u32 {
    if b.wrapping_sub(a) < u32::MAX / 2 { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::flow::Flow;

    /// There are two for each pair of ranks and rail: two million among a thousand ranks over two rails.
    #[test]
    fn a_flow_that_has_nothing_to_carry_is_small() {
        let bytes = size_of::<Flow>() + size_of::<FlowEnds>();
        assert!(bytes <= 120, "a flow takes {bytes} bytes");
    }
}
