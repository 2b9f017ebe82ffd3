//! An endpoint: one engine over all rails of this node.

mod burst;
mod close;
mod connecting;
mod peer;
mod progress;

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, TcpListener};

use fishplate_engine::{
    Completion, Context, Engine, Instant, MemoryAction, PeekRequest, RailId, RecvRequest, SendRequest, VcId,
};
use slab::Slab;

pub use fishplate_engine::PostError;

use crate::address::{Address, EndpointId, Token};
use crate::bounce::Bounces;
use crate::clock::Clock;
use crate::connect::incoming::Incoming;
use crate::connect::outgoing::Attempt;
use crate::connect::socket;
use crate::counters::Counters;
use crate::discover::{Interface, Verdict, survey};
use crate::link::Link;
use crate::settings::Settings;
use crate::sys::memory::UserMemory;
use crate::sys::poll::Poller;

use burst::Held;
use peer::Peer;

/// One engine over all rails. Progresses only when called; never blocks except in [`Endpoint::close`].
pub struct Endpoint {
    settings: Settings,
    address: Address,
    rails: Vec<Rail>,
    /// Addresses of this node: peers that have one of them are on it.
    own_addresses: Vec<IpAddr>,
    engine: Engine,
    memory: UserMemory,
    bounces: Bounces,
    clock: Clock,
    poller: Poller,
    listeners: Vec<TcpListener>,
    /// Connections wait that could not be taken.
    deaf: bool,
    links: Slab<Link>,
    attempts: Slab<Attempt>,
    incoming: Slab<Incoming>,
    /// By number of the virtual channel.
    peers: Vec<Peer>,
    by_id: HashMap<EndpointId, VcId>,
    held: Held,
    /// Links with something to send.
    dirty: Vec<usize>,
    /// The link that was read with success most recently.
    hot: Option<usize>,
    /// Number of the present progress call.
    calls: u64,
    /// When all sockets were asked for news last.
    asked_at: Instant,
    /// When to look after attempts and paths next.
    next_tick: Instant,
    counters: Counters,
}

/// A rail of this endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// Name of the interface.
    pub name: String,
    /// Its address.
    pub ip: IpAddr,
    /// Prefix length of its network.
    pub prefix: u8,
    /// Bytes per second, where the driver says.
    pub speed: Option<f64>,
}

/// An endpoint could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError(pub String);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}

impl Endpoint {
    /// Finds the rails, listens on them.
    ///
    /// # Safety
    /// From now on every extent of a request has `region` = the address of memory of this process
    /// (`offset` is added to it) that stays valid, and is not otherwise written (sends) or accessed (receives),
    /// until the operation's completion has been polled, or, for injected sends, until `send` returns.
    #[allow(unsafe_code)]
    pub unsafe fn open(settings: &Settings) -> Result<Endpoint, OpenError> {
        let interfaces = survey(&settings.rails).map_err(|error| OpenError(error.to_string()))?;
        let rails = rails(&interfaces)?;
        check_weights(settings, rails.len())?;
        let ips: Vec<IpAddr> = rails.iter().map(|rail| rail.ip).collect();
        let (listeners, port) =
            socket::listen(&ips).map_err(|error| OpenError(format!("the rails cannot be listened on: {error}")))?;
        let system = |error: std::io::Error| OpenError(format!("the kernel gives no poll set: {error}"));
        let poller = Poller::new().map_err(system)?;
        for (at, listener) in listeners.iter().enumerate() {
            listener.set_nonblocking(true).map_err(system)?;
            poller.add(std::os::fd::AsFd::as_fd(listener), progress::listener_token(at)).map_err(system)?;
        }
        let address =
            Address { id: EndpointId(u64::from_le_bytes(random()?)), token: Token(random()?), port, rails: ips };
        Ok(Endpoint {
            address,
            own_addresses: interfaces.into_iter().flat_map(|interface| interface.addresses).collect(),
            engine: Engine::new(settings.engine_config()),
            // SAFETY: the caller vouches for all extents.
            memory: unsafe { UserMemory::vouched() },
            bounces: Bounces::default(),
            clock: Clock::start(),
            poller,
            listeners,
            deaf: false,
            links: Slab::new(),
            attempts: Slab::new(),
            incoming: Slab::new(),
            peers: Vec::new(),
            by_id: HashMap::new(),
            held: Held::default(),
            dirty: Vec::new(),
            hot: None,
            calls: 0,
            asked_at: Instant(0),
            next_tick: Instant(0),
            counters: Counters::new(rails.len()),
            rails,
            settings: settings.clone(),
        })
    }

    /// What peers need in order to reach this endpoint.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The rails, in the order in which they are numbered.
    pub fn rails(&self) -> &[Rail] {
        &self.rails
    }

    /// The virtual channel to the peer at `address`; the same one for the same peer. Connects on first use.
    pub fn peer(&mut self, address: &Address) -> VcId {
        let vc = self.peer_by_id(address.id);
        self.peers[vc.0 as usize].address.get_or_insert_with(|| address.clone());
        vc
    }

    /// Posts a send.
    pub fn send(&mut self, request: SendRequest) -> Result<(), PostError> {
        let (vc, inject) = (request.vc, request.inject);
        let key = self.engine.post_send(request)?;
        let now = self.clock.now();
        let peer = &mut self.peers[vc.0 as usize];
        peer.burst.posted(now, self.calls);
        if peer.is_idle() {
            self.connect(vc, now);
        }
        self.pump(now);
        if inject {
            self.engine.detach(key);
        }
        self.act();
        Ok(())
    }

    /// Posts a receive. Matching messages that are already here complete it.
    pub fn recv(&mut self, request: RecvRequest) {
        self.engine.post_recv(request);
        self.act();
    }

    /// Looks for an unexpected message. Always reports a completion ([`fishplate_engine::Failure::NoMessage`] for a miss).
    pub fn peek(&mut self, request: PeekRequest) {
        self.engine.peek(request);
        self.act();
    }

    /// Receives the message that a peek claimed under the same context; false if there is none.
    pub fn recv_claimed(&mut self, request: RecvRequest) -> bool {
        let found = self.engine.recv_claimed(request);
        self.act();
        found
    }

    /// Drops the message that a peek claimed under `context`, with a completion; false if there is none.
    pub fn discard_claimed(&mut self, context: Context) -> bool {
        let found = self.engine.discard_claimed(context);
        self.act();
        found
    }

    /// Cancels a receive that has not matched: it completes with [`fishplate_engine::Failure::Cancelled`]. False: it takes its course.
    pub fn cancel(&mut self, context: Context) -> bool {
        self.engine.cancel(context)
    }

    /// The next completion, if any.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.engine.poll_completion()
    }

    fn peer_by_id(&mut self, id: EndpointId) -> VcId {
        if let Some(vc) = self.by_id.get(&id) {
            return *vc;
        }
        let itself = id == self.address.id;
        let vc = if itself { self.engine.open_loopback() } else { self.engine.open() };
        self.by_id.insert(id, vc);
        self.peers.push(Peer::new(id, itself));
        vc
    }

    /// Does with memory what the engine asks for.
    fn act(&mut self) {
        while let Some(action) = self.engine.poll_memory() {
            match action {
                MemoryAction::Fill { into, from } => {
                    let buffer = self.bounces.open(into);
                    self.memory.read(&from, buffer);
                }
                MemoryAction::Copy { from, to } => self.memory.write(&to, 0, self.bounces.get(from)),
                MemoryAction::Release(id) => self.bounces.release(id),
            }
        }
    }

    fn rail_id(&self, ip: IpAddr) -> RailId {
        let at = self.rails.iter().position(|rail| rail.ip == ip);
        RailId(at.unwrap_or(0) as u8)
    }
}

fn rails(interfaces: &[Interface]) -> Result<Vec<Rail>, OpenError> {
    let rail = |interface: &Interface| match interface.verdict {
        Verdict::Rail(ip) => {
            let at = interface.addresses.iter().position(|address| *address == ip);
            Some(Rail {
                name: interface.name.clone(),
                ip,
                prefix: at.and_then(|at| interface.prefixes.get(at).copied()).unwrap_or(0),
                speed: interface.speed_mbps.map(|mbps| mbps as f64 * 1e6 / 8.0),
            })
        }
        Verdict::Excluded(_) => None,
    };
    let mut rails: Vec<Rail> = interfaces.iter().filter_map(rail).collect();
    let ips: Vec<IpAddr> = rails.iter().map(|rail| rail.ip).collect();
    rails.truncate(Address::fitting(&ips));
    if rails.is_empty() { Err(OpenError("no network interface can be a rail".into())) } else { Ok(rails) }
}

/// A policy that has weights must have one a rail.
fn check_weights(settings: &Settings, rails: usize) -> Result<(), OpenError> {
    let weights = [
        ("FISHPLATE_STRIPING", settings.striping.weights()),
        ("FISHPLATE_MULTIPLEXING", settings.multiplexing.weights()),
    ];
    for (name, weights) in weights {
        if !weights.is_empty() && weights.len() != rails {
            let count = weights.len();
            return Err(OpenError(format!("{name}: {count} weights for {rails} rails; there must be one a rail")));
        }
    }
    Ok(())
}

fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| OpenError(format!("the kernel gives no random numbers: {error}")))?;
    Ok(bytes)
}
