//! Links over TCP: the connections that are up, with what is to be done about each.
//!
//! [`TcpLinks`] keeps lists of the links that have something to send, or wait for something. `send` and `receive` move frames
//! between them and the engine, `transfers` has threads copy long payloads, `poll_set` says which sockets (`socket`) are
//! watched and which one is polled, `tuning` looks after links that work. How they come up and end is in `connections`.
//!
//! What such a link is without an endpoint is in [`crate::link`].

mod poll_set;
pub(in crate::endpoint) mod receive;
pub(in crate::endpoint) mod send;
pub(in crate::endpoint) mod socket;
#[cfg(test)]
mod tests;
pub(in crate::endpoint) mod transfers;
pub(in crate::endpoint) mod tuning;

use std::io::Read;
use std::net::{IpAddr, Shutdown};
use std::ops::{Deref, DerefMut};

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Engine, Instant, RailId};
use slab::Slab;

use crate::endpoint::peer::Peer;
use crate::keepalive::Keepalive;
use crate::link::{CongestionControl, StreamLink};
use crate::link_kind::LinkId;
use crate::open_files::OpenFiles;
use crate::streams::PortRate;
use crate::sys::tcp_info::TcpInfo;

use send::batching::HeldLinks;
use send::kernel_acks::KernelAckQueries;
use transfers::Transfers;
use tuning::parallel_streams::StreamGroup;

/// The links, each under a key, and lists of these keys. A link that was taken out is on no list.
pub struct TcpLinks {
    /// For those who need one of them and what is beside them: others use [`TcpLinks`] as the slab.
    pub links: Slab<StreamLink>,
    /// How connections react to congestion.
    pub congestion: CongestionControl,
    /// For how many connections the process has files.
    pub files: OpenFiles,
    /// When none was found idle most recently.
    pub none_idle_at: Option<Instant>,
    /// How often kernels ask idle peers.
    pub keepalive: Keepalive,
    /// Streams that may become more.
    pub groups: Vec<StreamGroup>,
    /// What the ports of the rails carry, by rail.
    ports: Vec<PortRate>,
    /// Links whose frames are held back.
    pub held: HeldLinks,
    /// Long payloads that threads move.
    pub transfers: Transfers,
    /// Links with long frames in flight.
    pub kernel_acks: KernelAckQueries,
    /// How often something was handed to the kernel.
    pub flushes: u64,
    /// The link that was read with success most recently.
    pub active: Option<usize>,
    /// Links with something to send.
    dirty: Vec<usize>,
    /// Links with sockets that were full.
    stalled: Vec<usize>,
    /// Links with a datagram that may have to be retransmitted.
    unacknowledged_datagrams: Vec<usize>,
    /// Links over which goodbyes have come that are to be answered.
    leaving: Vec<usize>,
    /// Links whose sockets take nothing more, and may still have something that has come.
    broken: Vec<usize>,
}

impl TcpLinks {
    /// None so far.
    pub fn new(
        congestion: CongestionControl,
        files: OpenFiles,
        keepalive: Keepalive,
        transfers: Transfers,
        kernel_acks: KernelAckQueries,
    ) -> TcpLinks {
        TcpLinks {
            links: Slab::new(),
            congestion,
            files,
            none_idle_at: None,
            keepalive,
            groups: Vec::new(),
            ports: Vec::new(),
            held: HeldLinks::default(),
            transfers,
            kernel_acks,
            flushes: 0,
            active: None,
            dirty: Vec::new(),
            stalled: Vec::new(),
            unacknowledged_datagrams: Vec::new(),
            leaving: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// The links to a peer, with their keys.
    pub fn of_peer(&self, peer: &Peer) -> impl Iterator<Item = (usize, &StreamLink)> {
        peer.links.iter().filter_map(|link| match link {
            Some(LinkId::Tcp(at)) => Some((*at, &self.links[*at])),
            _ => None,
        })
    }

    /// The links over a rail.
    pub fn over(&self, rail: RailId) -> impl Iterator<Item = &StreamLink> {
        over(&self.links, rail)
    }

    /// Takes a link out.
    pub fn remove(&mut self, at: usize) -> StreamLink {
        let TcpLinks { dirty, stalled, unacknowledged_datagrams, leaving, broken, .. } = self;
        for list in [dirty, stalled, unacknowledged_datagrams, leaving, broken] {
            list.retain(|other| *other != at);
        }
        self.held.remove(at);
        self.kernel_acks.remove(at);
        self.transfers.remove(at);
        if self.active == Some(at) {
            self.active = None;
        }
        self.links.remove(at)
    }

    /// A link has something to send.
    pub fn mark_dirty(&mut self, at: usize) {
        if !std::mem::replace(&mut self.links[at].dirty, true) {
            self.dirty.push(at);
        }
    }

    /// Whether a link has something to send that is not held back.
    #[inline]
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The links that have something to send; for each [`TcpLinks::begin_flush`] is to follow.
    pub fn take_dirty(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.dirty)
    }

    /// What a link has to send so far is seen to.
    pub fn begin_flush(&mut self, at: usize) {
        self.links.get_mut(at).into_iter().for_each(|link| link.dirty = false);
    }

    /// The memory of a list that was taken is used for the next one.
    pub fn reuse(&mut self, mut list: Vec<usize>) {
        if self.dirty.is_empty() {
            list.clear();
            self.dirty = list;
        }
    }

    /// The socket of a link takes no more for now.
    pub fn block(&mut self, at: usize) {
        self.links[at].blocked = true;
        if !self.stalled.contains(&at) {
            self.stalled.push(at);
        }
    }

    /// The socket of a link may take more again.
    pub fn unblock(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at).filter(|link| link.blocked) else { return };
        link.blocked = false;
        self.stalled.retain(|stalled| *stalled != at);
        self.mark_dirty(at);
    }

    /// The same of all that were full.
    pub fn unblock_stalled(&mut self) {
        for at in std::mem::take(&mut self.stalled) {
            self.unblock(at);
        }
    }

    /// Whether sends wait for sockets, or for threads.
    #[inline]
    pub fn has_blocked_sends(&self) -> bool {
        !self.stalled.is_empty() || !self.transfers.is_empty()
    }

    /// The kernel takes nothing more for a link, for the reason `cause`.
    pub fn break_off(&mut self, at: usize, cause: String) {
        let link = &mut self.links[at];
        (link.blocked, link.broken) = (true, Some(cause));
        self.broken.push(at);
    }

    /// One of the links that were broken off, with the reason, once.
    pub fn take_broken(&mut self) -> Option<(usize, String)> {
        while let Some(at) = self.broken.pop() {
            if let Some(cause) = self.links.get_mut(at).and_then(|link| link.broken.take()) {
                return Some((at, cause));
            }
        }
        None
    }

    /// A frame of a link has left as a datagram.
    pub fn datagram_left(&mut self, at: usize) {
        let datagrams = self.links[at].datagrams.as_mut();
        if datagrams.is_some_and(|datagrams| !std::mem::replace(&mut datagrams.listed, true)) {
            self.unacknowledged_datagrams.push(at);
        }
    }

    /// Whether a datagram may have to be retransmitted.
    #[inline]
    pub fn has_unacknowledged_datagrams(&self) -> bool {
        !self.unacknowledged_datagrams.is_empty()
    }

    /// Frames that left as datagrams and were not acknowledged for long go into their streams. True if there were any.
    pub fn retransmit_datagrams(&mut self, now: Instant) -> bool {
        let mut any = false;
        for at in std::mem::take(&mut self.unacknowledged_datagrams) {
            let Some(link) = self.links.get_mut(at) else { continue };
            let Some(datagrams) = &mut link.datagrams else { continue };
            if link.send_sequence.awaits_datagram_ack(now) {
                self.unacknowledged_datagrams.push(at);
                continue;
            }
            datagrams.listed = false;
            if link.retransmit_datagrams() {
                any = true;
                self.mark_dirty(at);
            }
        }
        any
    }

    /// A goodbye has come over a link.
    pub fn goodbye_came(&mut self, at: usize) {
        self.leaving.push(at);
    }

    /// Peers that have said goodbye are answered once they have acknowledged everything: they have nothing to wait for then.
    pub fn answer_goodbyes(&mut self, engine: &Engine) {
        let TcpLinks { links, leaving, .. } = self;
        leaving.retain(|at| {
            let link = links.get_mut(*at).filter(|link| link.common.goodbye_received);
            let Some(link) = link else { return false };
            let is_over = link.transmit.is_empty() && engine.is_quiet_with(link.common.subchannel.vc);
            if is_over {
                link.shut();
            }
            !is_over
        });
    }

    /// Sends nothing but acknowledgements over a link any more, and says so (LEAVE), unless nothing else connects the peer. The
    /// other side does alike. Once all is acknowledged both ways, the side that set the link up shuts it.
    pub fn retire(&mut self, at: usize, engine: &mut Engine, now: Instant) {
        let link = &mut self.links[at];
        if !engine.retire(link.common.subchannel) {
            return;
        }
        link.retirement.leave_sent = true;
        let header = engine.bare_header(now, link.common.subchannel, Body::Leave);
        self.push_header(at, &header);
    }

    /// Puts a header into the queue of a link.
    pub fn push_header(&mut self, at: usize, header: &Header) {
        self.links[at].transmit.push_header(header);
        self.mark_dirty(at);
    }

    /// Answers peers that retire a link, and shuts links that have drained.
    pub fn service_retiring(&mut self, engine: &mut Engine, now: Instant) {
        let leaving = self.links.iter().filter(|(_, link)| link.retirement.has_begun() && !link.retirement.is_shut);
        for at in leaving.map(|(at, _)| at).collect::<Vec<_>>() {
            let link = &mut self.links[at];
            if !link.retirement.leave_sent {
                self.retire(at, engine, now);
                continue;
            }
            let is_drained = engine.is_drained(link.common.subchannel) && link.transmit.is_empty();
            if link.retirement.leave_received && !link.name.by_peer && is_drained {
                link.retirement.is_shut = true;
                let _ = link.socket.shutdown(Shutdown::Write);
            }
        }
    }

    /// What the kernel says of a new connection, with the least round trip of others over the same way: its own may have
    /// waited behind what these have sent, which makes no distance.
    pub fn with_known_distance(&self, rail: RailId, remote: IpAddr, info: TcpInfo) -> TcpInfo {
        let same = self.over(rail).filter(|link| link.remote.ip() == remote);
        let least = same.map(|link| link.sampled.min_rtt_ns).filter(|rtt_ns| *rtt_ns > 0).min().unwrap_or(u64::MAX);
        TcpInfo { rtt_ns: info.rtt_ns.min(least), min_rtt_ns: info.min_rtt_ns.min(least), ..info }
    }

    /// Connections have come or gone: the kernel asks idle peers as often as their number allows.
    pub fn pace_keepalive(&mut self) {
        if self.keepalive.adapt(self.links.len()) {
            for (_, link) in &self.links {
                // A connection that keeps the pace of before is asked too often, or too rarely.
                let _ = crate::socket::ask_every(&link.socket, self.keepalive.every());
            }
        }
    }

    /// Reads what is left of all, to be dropped. Closing a socket with unread bytes would reset it, and with it what the peer
    /// has not read yet.
    pub fn take_the_rest(&mut self) {
        let mut sink = vec![0; 64 << 10];
        for (_, link) in &self.links {
            let mut socket = &*link.socket;
            while socket.read(&mut sink).is_ok_and(|len| len > 0) {}
        }
    }
}

/// Those of all links that are over a rail.
fn over(links: &Slab<StreamLink>, rail: RailId) -> impl Iterator<Item = &StreamLink> {
    links.iter().map(|(_, link)| link).filter(move |link| link.common.rail == rail)
}

impl Deref for TcpLinks {
    type Target = Slab<StreamLink>;

    #[inline]
    fn deref(&self) -> &Slab<StreamLink> {
        &self.links
    }
}

impl DerefMut for TcpLinks {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slab<StreamLink> {
        &mut self.links
    }
}
