//! A virtual channel: everything between this endpoint and one peer.

pub mod credit;
pub mod estimate;
mod remote;
pub mod reorder;
mod scheduler;
pub mod send;
mod stripes;
pub mod subchannel;

pub use scheduler::Transmit;
pub use stripes::Stripes;

use std::collections::VecDeque;
use std::sync::Arc;

use credit::{Credit, Debt, MESSAGE_CHARGE};
use remote::RemoteAccess;
use reorder::Reorder;
use subchannel::Subchannel;

use crate::config::Config;
use crate::ids::{MessageSeq, VcId};
use crate::matching::turns::Turns;
use crate::policy::{Multiplex, Stripe};
use crate::wire::{Body, LandingRef, SendRef};

/// What a virtual channel can still do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Carries, or will once a subchannel is up.
    Open,
    /// Nothing more; the text says why, for the user.
    Lost(Arc<str>),
}

/// State of a virtual channel.
pub struct VirtualChannel {
    /// Its name.
    pub id: VcId,
    /// What it can still do.
    pub state: State,
    /// The peer is this endpoint itself: messages do not travel.
    pub loopback: bool,
    /// In the order in which they came up.
    pub subchannels: Vec<Subchannel>,
    /// Credit granted by the peer.
    pub credit: Credit,
    /// What the peer has used of this endpoint's grant.
    pub debt: Debt,
    /// Messages that overtook others: keys of arrivals.
    pub reorder: Reorder<u64>,
    /// Messages into multi-receive buffers that are not reported yet.
    pub turns: Turns,
    /// It is in the engine's list of virtual channels that may have something to transmit.
    pub is_ready: bool,
    eager_limit: u64,
    next_seq: MessageSeq,
    /// Messages without a subchannel, in order: keys of sends.
    queued: VecDeque<u64>,
    /// Cleared messages, long writes and answers that are not cut to the end, in order: keys of sends.
    cleared: VecDeque<u64>,
    /// Clearances, and refusals of reads, to send.
    replies: VecDeque<Body>,
    /// What remote memory access needs.
    pub remote: RemoteAccess,
    /// Bytes of queued messages and writes, and uncut ones in `cleared`.
    pending: u64,
    multiplex: Box<dyn Multiplex>,
    stripe: Box<dyn Stripe>,
}

impl VirtualChannel {
    /// A channel without subchannels.
    pub fn new(id: VcId, config: &Config, loopback: bool) -> Self {
        let reserve = config.most_announced * MESSAGE_CHARGE;
        let most_ahead = u32::try_from((config.grant + reserve) / MESSAGE_CHARGE).unwrap_or(u32::MAX / 4);
        VirtualChannel {
            id,
            state: State::Open,
            loopback,
            subchannels: Vec::new(),
            credit: Credit::new(reserve),
            debt: Debt::new(config.grant, reserve),
            reorder: Reorder::new(most_ahead),
            turns: Turns::default(),
            is_ready: false,
            eager_limit: config.eager_limit,
            next_seq: MessageSeq(0),
            queued: VecDeque::new(),
            cleared: VecDeque::new(),
            replies: VecDeque::new(),
            remote: RemoteAccess::default(),
            pending: 0,
            multiplex: config.multiplexing.build(id.0),
            stripe: config.striping.build(id.0),
        }
    }

    /// The position of the message that is posted next.
    pub fn take_seq(&mut self) -> MessageSeq {
        let seq = self.next_seq;
        self.next_seq = seq.next();
        seq
    }

    /// Queues a message of `len` bytes.
    pub fn enqueue(&mut self, send: u64, len: u64) {
        self.queued.push_back(send);
        self.pending += len;
    }

    /// Queues a clearance.
    pub fn clear(&mut self, send: SendRef, landing: LandingRef, len: u64) {
        self.replies.push_back(Body::Clear { send, landing, len });
    }

    /// `len` bytes of a send may be cut: the peer wants them of a message, or they are a write or an answer.
    pub fn enqueue_cleared(&mut self, send: u64, len: u64) {
        self.cleared.push_back(send);
        self.pending += len;
    }

    /// Whether nothing waits to be handed to a subchannel.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty()
            && self.cleared.is_empty()
            && self.replies.is_empty()
            && self.remote.is_idle()
            && self.subchannels.iter().all(|subchannel| subchannel.assigned.is_empty())
    }

    /// Whether the peer has to hear of frames received or credit returned.
    pub fn owes(&self) -> bool {
        self.debt.is_worth_telling() || self.subchannels.iter().any(|subchannel| subchannel.ack_due().is_some())
    }

    /// Whether everything that was posted has been sent and acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.is_idle() && self.subchannels.iter().all(Subchannel::is_quiet)
    }

    /// The policies and their present state, for people.
    pub fn explain(&self) -> String {
        format!("{}; {}", self.multiplex.explain(), self.stripe.explain())
    }

    /// Forgets what was to be sent.
    pub fn drop_queues(&mut self) {
        self.queued.clear();
        self.cleared.clear();
        self.replies.clear();
        self.remote = RemoteAccess::default();
        self.pending = 0;
        self.subchannels.clear();
    }
}
