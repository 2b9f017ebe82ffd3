//! A connection: two flows, and what the drivers at its ends know of it.

use fishplate_engine::retire::Retirement;
use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Placement, SubchannelId};

use super::ids::HostId;
use super::link_kind::LinkKind;
use crate::events::Time;

/// A payload that is being received.
#[derive(Debug)]
pub struct Receiving {
    pub placement: Placement,
    pub len: u64,
    pub done: u64,
}

/// One end of a connection, as its driver sees it.
#[derive(Debug)]
pub struct ConnectionEnd {
    pub host: HostId,
    pub subchannel: SubchannelId,
    pub receiving: Option<Receiving>,
    pub is_closed: bool,
    /// Counted frames that were sent, and how many of these the peer has acknowledged.
    pub counted: u32,
    pub acknowledged: u32,
    /// Messages that were sent or announced, and frames that only acknowledge.
    pub messages: u64,
    pub pure_acks: u64,
    /// How far it is let go.
    pub retirement: Retirement,
    /// A goodbye has been sent over it.
    pub goodbye_sent: bool,
    /// The peer has sent one.
    pub goodbye_received: bool,
    /// No more data is sent.
    pub is_shut: bool,
}

impl ConnectionEnd {
    /// A frame is sent.
    pub fn count(&mut self, header: &Header) {
        let is_message = matches!(header.body, Body::Eager { .. } | Body::RequestToSend { .. });
        self.counted += u32::from(header.body.is_counted());
        self.messages += u64::from(is_message && header.repetition == 0);
        self.pure_acks += u64::from(header.body == Body::Ack);
    }
}

/// A link of two hosts: a stream over one rail, or shared memory.
#[derive(Debug)]
pub struct Connection {
    pub ends: [ConnectionEnd; 2],
    /// Which rail; shared memory is behind the last.
    pub rail: usize,
    /// Whether it was set up while others carried data.
    pub is_additional: bool,
    /// No data gets through any more, nor an error.
    pub is_silent: bool,
    /// By the end that sends.
    pub flows: [Box<dyn LinkKind>; 2],
    /// When the next event of each flow comes.
    pub scheduled: [Option<Time>; 2],
}

impl Connection {
    pub fn new(
        ends: [(HostId, SubchannelId); 2],
        (rail, is_additional): (usize, bool),
        flows: [Box<dyn LinkKind>; 2],
    ) -> Connection {
        let retirement = Retirement::default();
        let ends = ends.map(|(host, subchannel)| ConnectionEnd {
            host,
            subchannel,
            receiving: None,
            is_closed: false,
            counted: 0,
            acknowledged: 0,
            messages: 0,
            pure_acks: 0,
            retirement,
            goodbye_sent: false,
            goodbye_received: false,
            is_shut: false,
        });
        Connection { ends, rail, is_additional, is_silent: false, flows, scheduled: [None; 2] }
    }

    /// Whether it is between these, in any order.
    pub fn is_between(&self, a: HostId, b: HostId) -> bool {
        let hosts = (self.ends[0].host, self.ends[1].host);
        hosts == (a, b) || hosts == (b, a)
    }

    /// Whether it is memory that both ends see.
    pub fn is_in_memory(&self) -> bool {
        self.flows[0].is_in_memory()
    }

    /// Whether both ends use it, or one closes it in good order.
    pub fn is_open(&self) -> bool {
        let (one, other) = (self.ends[0].is_closed, self.ends[1].is_closed);
        let is_cut = self.flows.iter().any(|flow| flow.is_cut());
        !(one && other) && (one == other || !is_cut)
    }
}
