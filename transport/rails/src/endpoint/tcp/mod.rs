//! Links over TCP: the connections that are up, and the work that is due for each.
//!
//! [`TcpLinks`] keeps lists of the links that have something to send, or wait for something. `send` and `receive` move frames
//! between them and the engine, `transfers` has threads copy long payloads, `poll_set` says which sockets are in the
//! poll set and which one is polled directly, `tuning` adapts working links. Set-up and end are in `connections`.
//!
//! [`crate::link`] has the parts of a link that need no endpoint.

mod poll_set;
pub(in crate::endpoint) mod receive;
pub(in crate::endpoint) mod send;
#[cfg(test)]
mod tests;
pub(in crate::endpoint) mod transfers;
pub(in crate::endpoint) mod tuning;

use std::io::Read;
use std::net::{IpAddr, Shutdown};
use std::ops::{Deref, DerefMut};

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Engine, Instant, PortShare, RailId};
use slab::Slab;

use crate::absence::Absence;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::peer::Peer;
use crate::keepalive::Keepalive;
use crate::link::{CongestionControl, StreamLink};
use crate::open_files::OpenFiles;
use crate::sys::tcp_info::TcpInfo;

use send::batching::HeldLinks;
use send::kernel_acks::KernelAckQueries;
use transfers::Transfers;
use tuning::parallel_streams::StreamGroup;

/// The links, by key, and lists of these keys. A removed link is on no list.
pub struct TcpLinks {
    /// Public for code that borrows a link and another field at once; other code uses [`TcpLinks`] as the slab.
    pub links: Slab<StreamLink>,
    /// Congestion control of the connections.
    pub congestion: CongestionControl,
    /// File descriptors of the process.
    pub files: OpenFiles,
    /// When a search for an idle connection last found none.
    pub none_idle_at: Option<Instant>,
    /// Keep-alive interval of idle connections.
    pub keepalive: Keepalive,
    /// Groups of streams whose number is managed.
    pub groups: Vec<StreamGroup>,
    /// Ranks of the job on this host.
    ranks: usize,
    /// For how long others had the processor.
    absence: Absence,
    /// What this process gets of the ports, by rail.
    ports: Vec<PortShare>,
    /// Links whose frames are batched.
    pub held: HeldLinks,
    /// Long payloads that threads move.
    pub transfers: Transfers,
    /// Links with long frames in flight.
    pub kernel_acks: KernelAckQueries,
    /// Number of flushes to the kernel.
    pub flushes: u64,
    /// The link that had data last.
    pub active: Option<usize>,
    /// Links with something to send.
    dirty: Vec<usize>,
    /// Links whose sockets were full.
    stalled: Vec<usize>,
    /// Links with a datagram that may have to be retransmitted.
    unacknowledged_datagrams: Vec<usize>,
    /// Links whose goodbyes are still to be answered.
    leaving: Vec<usize>,
    /// Links whose sockets cannot be written any more, but may still have data to read.
    broken: Vec<usize>,
}

impl TcpLinks {
    pub fn new(
        congestion: CongestionControl,
        files: OpenFiles,
        ranks: usize,
        transfers: Transfers,
        kernel_acks: KernelAckQueries,
    ) -> TcpLinks {
        TcpLinks {
            links: Slab::new(),
            congestion,
            files,
            none_idle_at: None,
            keepalive: Keepalive::new(ranks),
            groups: Vec::new(),
            ranks,
            absence: Absence::default(),
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

    pub fn over(&self, rail: RailId) -> impl Iterator<Item = &StreamLink> {
        over(&self.links, rail)
    }

    /// Removes a link.
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

    /// Whether a link has something to send that is not batched.
    #[inline]
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The links that have something to send; for each [`TcpLinks::begin_flush`] is to follow.
    pub fn take_dirty(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.dirty)
    }

    /// A flush of a link begins: it is on the list no more.
    pub fn begin_flush(&mut self, at: usize) {
        self.links.get_mut(at).into_iter().for_each(|link| link.dirty = false);
    }

    /// Reuses the memory of a list from [`TcpLinks::take_dirty`].
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

    /// All sockets that were full may take more again.
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

    /// A write to a link's socket has failed, for the reason `cause`: the link ends once its data is read.
    pub fn break_off(&mut self, at: usize, cause: String) {
        let link = &mut self.links[at];
        (link.blocked, link.broken) = (true, Some(cause));
        self.broken.push(at);
    }

    /// Takes one of the links of [`TcpLinks::break_off`], with the reason.
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

    /// Puts frames of unacknowledged datagrams into their streams after a timeout. True if there were any.
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
    pub fn goodbye_received(&mut self, at: usize) {
        self.leaving.push(at);
    }

    /// Answers goodbyes of peers that have acknowledged everything: they wait for nothing else then.
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

    /// Retires a link, unless it is the last one to the peer: sends only acknowledgements over it, and LEAVE. The other side answers in
    /// the same way. Once all is acknowledged both ways, the side that set the link up shuts it.
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

    /// The kernel's data on a new connection, with the minimum round trip of others over the same way: packets of the new connection
    /// may have queued behind theirs.
    pub fn with_known_distance(&self, rail: RailId, remote: IpAddr, info: TcpInfo) -> TcpInfo {
        let same = self.over(rail).filter(|link| link.remote.ip() == remote);
        let least = same.map(|link| link.sampled.min_rtt_ns).filter(|rtt_ns| *rtt_ns > 0).min().unwrap_or(u64::MAX);
        TcpInfo { rtt_ns: info.rtt_ns.min(least), min_rtt_ns: info.min_rtt_ns.min(least), ..info }
    }

    /// The number of connections has changed: adapts the keep-alive interval to it.
    pub fn pace_keepalive(&mut self) {
        if self.keepalive.adapt(self.links.len()) {
            for (_, link) in &self.links {
                // Errors are ignored: the connection keeps its old interval.
                let _ = crate::socket::ask_every(&link.socket, self.keepalive.every());
            }
        }
    }

    /// Reads and drops the rest of all sockets. Closing a socket with unread bytes would reset the connection, and drop bytes that the
    /// peer has not read yet.
    pub fn take_the_rest(&mut self) {
        let mut sink = vec![0; 64 << 10];
        for (_, link) in &self.links {
            let mut socket = &*link.socket;
            while socket.read(&mut sink).is_ok_and(|len| len > 0) {}
        }
    }
}

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
