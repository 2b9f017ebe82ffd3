//! An endpoint: one engine over all rails of this node.

mod burst;
mod connections;
mod host;
mod identity;
mod link_id;
mod links;
mod messenger;
mod ofi;
mod peer;
mod peers;
mod post;
mod progress;
mod receive;
mod send;
mod shared_memory;
mod silence;
mod standby;
mod status_page;
mod tcp;
#[cfg(test)]
mod test_pair;

use fishplate_engine::{Completion, Engine, MemoryAction, VcId};
use fishplate_link_core::{BounceBuffers, UserMemory, random};

pub use crate::rail::Rail;
pub use fishplate_engine::{KeyInUse, PostError};

use crate::ablation::Mechanism;
use crate::address::Address;
use crate::announce::announce;
use crate::await_rails::{Found, await_rails};
use crate::clock::Clock;
use crate::discover::{Interface, are_named};
use crate::link::CongestionControl;
use crate::listen::{Place, listen};
use crate::logger;
use crate::open_files::OpenFiles;
use crate::poller::Poller;
use crate::process;
use crate::processor_time::ProcessorTime;
use crate::settings::Settings;
use crate::socket;
use crate::transfer::Threads;

use connections::attempts::Attempts;
use connections::by_need::connects_by_need;
use connections::listening::Listening;
use host::Host;
use identity::OwnIdentity;
use links::Links;
use ofi::OfiLinks;
use peer::Role;
use peers::Peers;
use progress::state::Progress;
use shared_memory::SharedMemoryLinks;
use silence::Silences;
use status_page::{Diagnostics, StatusPage};
use tcp::TcpLinks;
use tcp::send::kernel_acks::KernelAckQueries;
use tcp::transfers::Transfers;

/// One engine over all rails. Progresses only when called; never blocks except in [`Endpoint::close`].
pub struct Endpoint {
    settings: Settings,
    identity: OwnIdentity,
    host: Host,
    peers: Peers,
    engine: Engine,
    memory: UserMemory,
    /// Copies of payloads.
    bounces: BounceBuffers,
    clock: Clock,
    processor_time: ProcessorTime,
    poller: Poller,
    listening: Listening,
    attempts: Attempts,
    links: Links,
    progress: Progress,
    silences: Silences,
    diagnostics: Diagnostics,
}

/// An endpoint could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub String);

impl Endpoint {
    /// Finds the rails, listens on them.
    ///
    /// # Safety
    /// From now on every extent of a request has `region` = the address of memory of this process
    /// (`offset` is added to it) that stays valid, and is not otherwise written (sends) or accessed (receives),
    /// until the operation's completion has been polled, or, for injected sends and writes, until the call returns; and
    /// that of a registration is memory of this process until `deregister` returns. A registration of more than there
    /// is lets peers end the process by naming addresses that are not there.
    #[allow(unsafe_code)]
    pub unsafe fn open(settings: &Settings) -> Result<Endpoint, OpenError> {
        // SAFETY: the caller vouches for all extents.
        Endpoint::begin(settings, unsafe { UserMemory::vouched() })
    }

    fn begin(settings: &Settings, memory: UserMemory) -> Result<Endpoint, OpenError> {
        logger::start(settings.log);
        let Found { interfaces, no_way } = await_rails(settings).map_err(OpenError)?;
        let host = Host::new(&interfaces, no_way);
        let rails = &host.rails;
        let ofi = OfiLinks::open(settings, rails);
        let preferred = host.preferred().len();
        check_weights(settings, preferred + ofi.rail_count())?;
        let congestion = congestion_control(settings, &rails[0])?;
        let places: Vec<Place> = rails.iter().map(Rail::place).collect();
        let (listeners, port) = listen(&places, congestion.initial_algorithm(), settings.ports)
            .map_err(|error| OpenError(format!("{}: {error}", process::name())))?;
        let no_random = |error: std::io::Error| OpenError(format!("the kernel gives no random numbers: {error}"));
        let system = |error: std::io::Error| OpenError(format!("the kernel gives no poll set: {error}"));
        let poller = Poller::new().map_err(system)?;
        let listening = Listening::begin(listeners, &poller).map_err(system)?;
        let identity = OwnIdentity::new(rails, port, settings.terms()).map_err(no_random)?;
        log_rails(rails, &ofi, port);
        log_outages(&interfaces, are_named(&settings.rails));
        let files = OpenFiles::begin(preferred.max(1));
        if files.is_short() {
            let level = if process::is_last() { log::Level::Warn } else { log::Level::Info };
            log::log!(level, "{files}");
        }
        host.preferred().iter().filter(|rail| host.is_crowded(rail)).for_each(announce);
        let ranks = process::local_ranks().unwrap_or(1) as usize;
        let transfers = Transfers::new(Threads::new(settings.threads, preferred.max(1), ranks));
        let tcp = TcpLinks::new(congestion, files, ranks, transfers, KernelAckQueries::new(settings));
        let links = Links { tcp, memory: SharedMemoryLinks::default(), ofi };
        let page = StatusPage::begin(settings.top, u64::from_le_bytes(random().map_err(no_random)?));
        Ok(Endpoint {
            settings: settings.clone(),
            identity,
            peers: Peers::default(),
            engine: Engine::new(settings.engine_config(preferred..rails.len())),
            memory,
            bounces: BounceBuffers::default(),
            clock: Clock::start(),
            processor_time: ProcessorTime::new(),
            poller,
            listening,
            attempts: Attempts::new(connects_by_need(preferred)),
            diagnostics: Diagnostics::begin(links.rail_names(rails), page),
            links,
            progress: Progress::default(),
            silences: Silences::default(),
            host,
        })
    }

    /// The address by which peers reach this endpoint.
    pub fn address(&self) -> &Address {
        &self.identity.address
    }

    /// The rails, in the order in which they are numbered.
    pub fn rails(&self) -> &[Rail] {
        &self.host.rails
    }

    /// The virtual channel to the peer at `address`; the same one for the same peer. Connects on first use.
    pub fn peer(&mut self, address: &Address) -> VcId {
        self.acquaint(address);
        let vc = self.peers.of_id(address.id, &self.identity.party, &mut self.engine);
        let peer = &mut self.peers[vc];
        if peer.address.is_none() {
            peer.address = Some(address.clone());
            if peer.role == Role::Acceptor && !peer.is_connected() && !peer.is_closing {
                self.connect_instead(vc, self.clock.now());
            }
        }
        vc
    }

    /// A peer that the user should name by [`Endpoint::peer`]: its links have failed, and this side does not know its address.
    pub fn poll_nameless_peer(&mut self) -> Option<VcId> {
        self.peers.nameless.pop()
    }

    /// Whether there is any completion.
    #[inline]
    pub fn has_completions(&self) -> bool {
        self.engine.has_completions()
    }

    /// The next completion, if any.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.engine.poll_completion()
    }

    /// Carries out the engine's memory actions.
    #[inline]
    fn apply_memory_actions(&mut self) {
        if self.engine.has_memory_actions() {
            self.apply_all_memory_actions();
        }
    }

    fn apply_all_memory_actions(&mut self) {
        while let Some(action) = self.engine.poll_memory() {
            match action {
                MemoryAction::Fill { into, from } => {
                    let buffer = self.bounces.open(into);
                    self.memory.read(&from, buffer);
                }
                MemoryAction::Copy { from, to } => self.memory.write(&to, 0, self.bounces.get(from)),
                MemoryAction::Apply { id, what, to, operands, result } => {
                    let outcome = self.bounces.with_result(operands, result, |operands, result| {
                        self.memory.apply(&what, &to, operands, result)
                    });
                    self.engine.applied(id, outcome);
                }
                MemoryAction::Release(id) => self.bounces.release(id),
                MemoryAction::Discard(subchannel) => {
                    let link = self.link_of(subchannel).and_then(|id| self.links.get_mut(id));
                    link.into_iter().for_each(|link| link.discard(&mut self.bounces));
                }
                MemoryAction::Detach(memory) => self.detach_links(&memory),
            }
        }
    }
}

/// Congestion control of links over TCP, as the settings want it and the kernel, which a socket on `rail` shows, has it.
fn congestion_control(settings: &Settings, rail: &Rail) -> Result<CongestionControl, OpenError> {
    let no_socket = |error: std::io::Error| OpenError(format!("the kernel gives no socket: {error}"));
    let socket = socket::unconnected(rail.ip()).map_err(no_socket)?;
    Ok(match settings.ablation.is_off(Mechanism::CongestionSwitching) {
        true => CongestionControl::of_system(&socket),
        false => CongestionControl::new(settings.congestion.as_deref(), &socket),
    })
}

fn log_rails(rails: &[Rail], ofi: &OfiLinks, port: u16) {
    let names = |rails: &[Rail]| rails.iter().map(|rail| rail.name.clone()).collect::<Vec<_>>();
    let (first, reserve) = rails.split_at(Rail::preferred(rails).len());
    let first: Vec<String> = names(first).into_iter().chain(ofi.names().map(str::to_string)).collect();
    let reserve = names(reserve).join(", ");
    let in_reserve = if reserve.is_empty() { String::new() } else { format!(", in reserve {reserve}") };
    log::info!("rails {}{in_reserve}, port {port}", first.join(", "));
}

/// Logs rails that are down. As a warning if the user has named rails: otherwise the interface may never have been in use.
fn log_outages(interfaces: &[Interface], are_named: bool) {
    let level = if are_named { log::Level::Warn } else { log::Level::Info };
    for rail in interfaces.iter().filter(|interface| interface.is_rail()) {
        if let Some(outage) = rail.outage {
            log::log!(level, "rail {} {outage}; it is used once it is up", rail.rail_name());
        }
    }
}

/// A policy with weights must have one for each rail.
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
