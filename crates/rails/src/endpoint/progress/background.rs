//! Progress while the application is not in MPI, by calls of the progress thread.

use std::io;
use std::os::fd::OwnedFd;

use crate::endpoint::Endpoint;
use crate::link_kind::LinkKind;
use crate::shared_memory::Sender;

impl Endpoint {
    /// Number of progress calls so far: if it stays the same, the application is not in MPI.
    pub fn progress_calls(&self) -> u64 {
        self.calls
    }

    /// Whether sends wait for a socket whose kernel buffer was full.
    #[inline]
    pub fn has_blocked_sends(&self) -> bool {
        !self.stalled.is_empty()
            || !self.transfers.is_empty()
            || self.links.memory.iter().any(|(_, link)| link.sender.is_blocked())
            || self.links.ofi.iter().any(|(_, link)| link.has_waiting())
    }

    /// Whether anything that was posted has not ended, so that what comes from the network may be for it.
    #[inline]
    pub fn has_pending_operations(&self) -> bool {
        self.engine.has_pending_operations()
    }

    /// Whether there is anything to go on with while the program is away: operations, or memory that peers access.
    pub fn has_background_work(&self) -> bool {
        self.engine.has_pending_operations() || self.engine.is_accessible()
    }

    /// How often peers have asked for what is in memory here, over links, and wait for it.
    pub fn questions(&self) -> u64 {
        self.engine.questions()
    }

    /// Whether all peers that are connected share memory: a transfer takes so little then that it need not begin at once.
    pub fn has_only_memory_peers(&self) -> bool {
        let mut connected = self.peers.iter().filter(|peer| peer.is_connected());
        !self.shared_memory.is_empty() && connected.all(|peer| peer.shared_memory.is_some())
    }

    /// A descriptor that is readable while a socket of the endpoint is ready, if [`Endpoint::progress_in_background`] was called
    /// last.
    pub fn readiness_fd(&self) -> io::Result<OwnedFd> {
        self.poller.try_clone()
    }

    /// Hands the kernel what it takes by now of what was posted. Nothing is read.
    pub fn flush_posted(&mut self) {
        let now = self.clock.now();
        for at in std::mem::take(&mut self.stalled) {
            self.unblock(at);
        }
        self.collect_sends();
        self.query_kernel_acks(now);
        self.poll_taken_of_shared(now, Sender::is_blocked);
        self.poll_ofi(now);
        self.pump(now);
        self.ring_bells(true);
    }

    /// All that [`Endpoint::progress`] does; from then on all sockets are in the poll set, and peers that share memory ring.
    /// False if more has come by now.
    pub fn progress_in_background(&mut self) -> bool {
        self.looks.expect();
        self.pause_transfers(self.now);
        self.progress();
        self.resume_transfers();
        self.register_active_link();
        // Nothing wakes anybody for what comes over a provider's endpoint.
        self.sleep_shared_memory() && self.links.ofi.is_empty()
    }
}
