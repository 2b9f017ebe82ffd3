//! The end of an endpoint: nothing that was sent is lost, and nothing is left open.

use std::io::Read;
use std::time::{Duration, Instant as Monotonic};

use fishplate_engine::wire::Body;

use crate::endpoint::Endpoint;
use crate::endpoint::links::SHARED_MEMORY;
use crate::link_kind::{LinkId, Places};

/// How long a peer may take without any progress before what it has not acknowledged is given up.
const STALL: Duration = Duration::from_secs(5);
/// How long to wait for peers to close as well, once everything is delivered.
const LINGER: Duration = Duration::from_secs(1);
/// How long to wait for a socket at a time.
const NAP: Duration = Duration::from_millis(1);

impl Endpoint {
    /// Sends what is still to be sent (bounded by a stall of 5 s), says goodbye, writes counters, closes everything.
    pub fn close(mut self) {
        self.drain();
        self.send_goodbyes();
        self.linger();
        self.finish();
    }

    /// The same at once, for a process that ends because something has gone wrong: acknowledgements that are due are sent, as
    /// peers may wait for them, and counters are written. Without a goodbye, so that peers hear of a failure.
    pub fn close_at_once(mut self) {
        self.flush_held();
        let now = self.clock.now();
        self.engine.send_all_acknowledgements(now);
        self.pump(now);
        self.finish();
    }

    fn finish(mut self) {
        let links: Vec<LinkId> = self.links.iter().map(|(link, _)| link).collect();
        links.into_iter().for_each(|link| self.remove_link(link));
        if let Some(file) = &self.settings.stats
            && let Err(error) = self.counters.append(file, &self.rails, self.ofi.names().chain([SHARED_MEMORY]))
        {
            log::warn!("FISHPLATE_STATS: counters cannot be appended to {}: {error}", file.display());
        }
    }

    /// Until everything has been acknowledged.
    fn drain(&mut self) {
        let mut stalled = Monotonic::now();
        while !self.engine.is_quiet()
            || self.links.iter().any(|(_, link)| link.has_waiting())
            || self.has_blocked_sends()
        {
            if self.progress_for(NAP) {
                stalled = Monotonic::now();
            } else if stalled.elapsed() > STALL {
                for vc in self.engine.unacknowledged_peers() {
                    let peer = self.peers[vc.0 as usize].describe();
                    log::warn!("the endpoint was closed before {peer} had acknowledged everything");
                }
                break;
            }
        }
    }

    fn send_goodbyes(&mut self) {
        let now = self.clock.now();
        let Endpoint { links, engine, memory, bounces, .. } = self;
        for (_, link) in links.iter_mut() {
            let header = engine.bare_header(now, link.common().subchannel, Body::Bye);
            link.say_goodbye(&header, Places { memory, bounces });
        }
    }

    /// Until the peers have shut their sides: closing a socket with unread bytes would reset it, and with it what the
    /// peer has not read yet.
    fn linger(&mut self) {
        let start = Monotonic::now();
        self.register_active_link();
        let mut open: Vec<usize> = self.links.streams.iter().map(|(at, _)| at).collect();
        let mut sink = vec![0; 64 << 10];
        while !self.flush_ofi() && start.elapsed() < LINGER {
            std::thread::yield_now();
        }
        while !open.is_empty() && start.elapsed() < LINGER {
            open.retain(|at| {
                let mut socket = &self.links.streams[*at].socket;
                loop {
                    match socket.read(&mut sink) {
                        Ok(0) => return false,
                        Ok(_) => {}
                        Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
                    }
                }
            });
            if !open.is_empty() {
                let _ = self.poller.wait(NAP, |_| {});
            }
        }
    }
}
