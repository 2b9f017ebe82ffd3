//! An attempt to set up one subchannel: one rail and stream to one address of a peer.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use fishplate_engine::{Instant, RailId, VcId};

use super::{read_some, write_whole};
use crate::discover::Class;
use crate::encryption::Keys;
use crate::handshake::{HandshakeError, Initiator, MAX_ANSWER_LEN, Refusal, Step};
use crate::keepalive::KEEPALIVE_AFTER;
use crate::link_name::is_additional;
use crate::socket;
use crate::sys::tcp_info::tcp_info;

/// Backoff before the second try, or after a failure, in nanoseconds; it doubles with each further one.
pub const MIN_BACKOFF_NS: u64 = 50_000_000;
/// Longest backoff between tries, in nanoseconds.
const MAX_BACKOFF_NS: u64 = 2_000_000_000;
/// Longest backoff while links over interfaces in reserve carry, in nanoseconds: each try costs a connection that nobody
/// answers.
const MAX_BACKOFF_WHILE_CARRIED_NS: u64 = 30_000_000_000;
/// How long a try may take, in nanoseconds: longer than a lost SYN and its retransmission over a distance.
const CONNECT_TIMEOUT_NS: u64 = 5_000_000_000;
/// [`CONNECT_TIMEOUT_NS`] while other addresses of the peer have not been tried. Hosts keep the first answer to an ARP request
/// for somewhat less (`locktime` of arp(7)), even if it was wrong and another one has come since.
const ALTERNATIVE_TIMEOUT_NS: u64 = 1_100_000_000;
/// Backoff after the first detour, for the same reason, and after the second, when this host has heard the right answer.
const DETOUR_BACKOFFS_NS: [u64; 2] = [1_100_000_000, 20_000_000];
/// Tries of one address in a row where several interfaces are in one network, so that ARP may be wrong at first.
const CROWDED_TRIES: u8 = 3;
/// Where several interfaces are in one network, the side whose connections would not be kept if both connect at once waits for
/// this time, in nanoseconds: ARP requests of both sides at once would spread wrong answers.
const CROWDED_DELAY_NS: u64 = 100_000_000;
/// [`CONNECT_TIMEOUT_NS`] for a rail that has failed: the next SYN comes sooner than the kernel would retransmit one, so that a
/// rail that comes back is used soon.
const RECONNECT_TIMEOUT_NS: u64 = 1_000_000_000;
/// Round trips that are added to [`RECONNECT_TIMEOUT_NS`] where they are known: SYN, two messages each way, and some losses.
const RECONNECT_TIMEOUT_ROUND_TRIPS: u64 = 8;
/// Longest backoff of a rail that has failed, in nanoseconds.
const MAX_RECONNECT_BACKOFF_NS: u64 = 500_000_000;

/// Unproven refusals in a row, at each address of a peer that was never reached, until they are believed. Somebody who can inject
/// one into a connection can end that connection anyway, but must not be able to end all tries by one.
const MAX_HINTS: usize = 4;

#[derive(Debug)]
pub struct Attempt {
    /// The channel of the peer.
    pub vc: VcId,
    /// Our rail.
    pub rail: RailId,
    /// Which of the rail's streams.
    pub stream: u8,
    /// Preference of the way.
    pub class: Class,
    /// Local port; 0: any. The kernel chooses another one where it is taken.
    pub local_port: u16,
    /// The peer's end in the present try.
    pub remote: SocketAddr,
    /// Other addresses of the peer, to be tried in turn.
    others: VecDeque<Alternative>,
    /// The connection was established before, and failed.
    pub is_reconnect: bool,
    /// The next try uses short TCP segments.
    is_short: bool,
    /// The rail is in one network with others.
    is_crowded: bool,
    /// Number of tries of the present address in this round.
    tries: u8,
    /// Number of refusals because of a detour.
    detours: usize,
    /// Number of tries of addresses that had been tried before.
    repetitions: usize,
    /// Number of tries in a row that have ended by an unproven refusal.
    hints: usize,
    state: State,
    backoff_ns: u64,
    max_backoff_ns: u64,
    timeout_ns: u64,
    deadline: Instant,
    /// Why the last try failed.
    pub error: Option<AttemptError>,
}

/// An address of the peer, and how the last try to reach it ended.
#[derive(Debug)]
struct Alternative {
    remote: SocketAddr,
    error: Option<String>,
}

#[derive(Debug)]
enum State {
    /// Until the deadline.
    BackingOff,
    Connecting(TcpStream),
    Handshake(TcpStream, Box<Initiator>, Vec<u8>),
}

/// Why a try failed.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// An error from the network or the peer's kernel.
    #[error(transparent)]
    Network(io::Error),
    /// No answer in time.
    #[error("no answer")]
    TimedOut,
    /// The handshake failed.
    #[error(transparent)]
    Handshake(HandshakeError),
}

impl AttemptError {
    /// Whether the peer has refused for good. A lack of files is not for good if the peer had one before (`is_reconnect`).
    pub fn is_final(&self, is_reconnect: bool) -> bool {
        match self {
            AttemptError::Network(_) | AttemptError::TimedOut => false,
            AttemptError::Handshake(HandshakeError::Refused(Refusal::Detour | Refusal::Crowded)) => false,
            AttemptError::Handshake(HandshakeError::Refused(Refusal::Files)) => !is_reconnect,
            AttemptError::Handshake(error) => !error.is_hint(),
        }
    }

    /// Whether the answer is unproven: an attacker on the path may have injected it.
    pub fn is_hint(&self) -> bool {
        matches!(self, AttemptError::Handshake(error) if error.is_hint())
    }

    /// Whether the peer wants the connection over another of its interfaces, which it has announced to the network.
    pub fn is_detour(&self) -> bool {
        matches!(self, AttemptError::Handshake(HandshakeError::Refused(Refusal::Detour)))
    }

    /// Whether the network, or this host, has no route.
    pub fn is_unreachable(&self) -> bool {
        use io::ErrorKind::{AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable};
        let kinds = [AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable];
        matches!(self, AttemptError::Network(error) if kinds.contains(&error.kind()))
    }

    /// Whether this process may open no more files.
    pub fn is_out_of_files(&self) -> bool {
        matches!(self, AttemptError::Network(error) if is_out_of_files(error))
    }

    /// The error of a process that may open no more files.
    pub fn no_file() -> AttemptError {
        AttemptError::Network(io::Error::from_raw_os_error(libc::EMFILE))
    }

    /// Whether the peer may open no more files.
    pub fn is_refused_for_files(&self) -> bool {
        matches!(self, AttemptError::Handshake(error) if error.refusal() == Some(Refusal::Files))
    }

    /// Whether the peer keeps the connection that it has set up itself.
    pub fn is_yield(&self) -> bool {
        matches!(self, AttemptError::Handshake(HandshakeError::Refused(Refusal::Yield)))
    }
}

/// Whether an error says that this process, or the system, may open no more files.
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// A proven connection.
#[derive(Debug)]
pub struct Established {
    pub socket: TcpStream,
    /// The peer's grant, in bytes.
    pub grant: u64,
    /// Bytes received after the last message of the handshake.
    pub early: Vec<u8>,
    /// Its keys; `None`: it is not encrypted.
    pub keys: Option<Box<Keys>>,
    /// The peer's addresses, if it was asked for them; the connection then serves nothing else.
    pub addresses: Option<Vec<u8>>,
    /// The peer has shown that it knows this side's token.
    pub is_acquainted: bool,
    /// Preference of its way.
    pub class: Class,
}

impl Attempt {
    /// An attempt that starts with the next call of [`Attempt::is_due`].
    pub fn new(vc: VcId, rail: RailId, stream: u8, remote: SocketAddr, now: Instant) -> Self {
        Attempt {
            vc,
            rail,
            stream,
            class: Class::Rail,
            local_port: 0,
            remote,
            others: VecDeque::new(),
            is_reconnect: false,
            is_short: false,
            is_crowded: false,
            tries: 0,
            detours: 0,
            repetitions: 0,
            hints: 0,
            state: State::BackingOff,
            backoff_ns: MIN_BACKOFF_NS,
            max_backoff_ns: MAX_BACKOFF_NS,
            timeout_ns: CONNECT_TIMEOUT_NS,
            deadline: now,
            error: None,
        }
    }

    /// Sets the class of its way.
    pub fn of_class(self, class: Class) -> Self {
        Attempt { class, ..self }
    }

    /// Adds further addresses of the peer, which are tried in turn.
    pub fn or_at(self, others: impl IntoIterator<Item = SocketAddr>) -> Self {
        let others = others.into_iter().map(|remote| Alternative { remote, error: None });
        Attempt { others: others.collect(), ..self }
    }

    /// Says that the rail is in one network with others, so that ARP may mix up interfaces. `yields`: if the peer connects too, the
    /// peer's connections are kept.
    pub fn among_others(self, yields: bool) -> Self {
        let delay_ns = if yields { CROWDED_DELAY_NS } else { 0 };
        Attempt { is_crowded: true, deadline: self.deadline.plus_ns(delay_ns), ..self }
    }

    /// Says that it replaces a failed connection, and starts after a pause; `rtt_ns`: of its path, 0 if not known.
    pub fn reconnecting(self, backoff_ns: u64, rtt_ns: u64) -> Self {
        Attempt {
            is_reconnect: true,
            max_backoff_ns: MAX_RECONNECT_BACKOFF_NS,
            timeout_ns: RECONNECT_TIMEOUT_NS + RECONNECT_TIMEOUT_ROUND_TRIPS * rtt_ns,
            deadline: self.deadline.plus_ns(backoff_ns),
            ..self
        }
    }

    /// Sets the local port, to be used if it is free.
    pub fn with_local_port(self, local_port: u16) -> Self {
        Attempt { local_port, ..self }
    }

    /// Has the next try use short TCP segments, if `is_short`.
    pub fn with_short_segments(self, is_short: bool) -> Self {
        Attempt { is_short, ..self }
    }

    /// Whether it is for an additional stream, beside others that carry.
    pub fn is_additional(&self) -> bool {
        is_additional(self.stream)
    }

    /// Ends the backoff.
    pub fn retry_now(&mut self, now: Instant) {
        if !self.has_socket() {
            self.deadline = self.deadline.min(now);
        }
    }

    /// Tries seldom from now on, as other links carry; not for a connection that was established before.
    pub fn wait_long(&mut self) {
        if !self.is_reconnect {
            self.max_backoff_ns = MAX_BACKOFF_WHILE_CARRIED_NS;
        }
    }

    /// Whether the peer's kernel refused the last try: no process listens there.
    pub fn is_refused(&self) -> bool {
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        matches!(&self.error, Some(AttemptError::Network(error)) if refused(error))
    }

    /// Whether the peer may take this connection instead of its own: its handshake is under way, or no try has failed.
    pub fn may_succeed(&self) -> bool {
        self.error.is_none() || matches!(self.state, State::Handshake(..))
    }

    /// Whether it is time for a try.
    pub fn is_due(&self, now: Instant) -> bool {
        !self.has_socket() && self.deadline <= now
    }

    /// Whether a try has timed out.
    pub fn has_timed_out(&self, now: Instant) -> bool {
        self.has_socket() && self.deadline <= now
    }

    /// Whether the present try has a socket.
    pub fn has_socket(&self) -> bool {
        !matches!(self.state, State::BackingOff)
    }

    /// Whether the next try waits for a file descriptor.
    pub fn waits_for_file(&self) -> bool {
        !self.has_socket() && self.error.as_ref().is_some_and(AttemptError::is_out_of_files)
    }

    /// Whether the present try is connected.
    pub fn is_taken(&self) -> bool {
        matches!(self.state, State::Handshake(..))
    }

    /// Whether the first try is connected, and has not timed out.
    pub fn is_answered(&self) -> bool {
        self.is_taken() && self.error.is_none()
    }

    /// Whether a try that has timed out should go on instead of a new one: the peer's kernel has acknowledged all that was sent, so
    /// that only its process has not answered, which may be stopped. Keep-alive probes check that its kernel stays
    /// ([`socket::tune`]).
    pub fn is_patient(&self) -> bool {
        let has_all = |stream: &TcpStream| tcp_info(stream.as_fd()).is_ok_and(|info| !info.is_waiting());
        self.is_reconnect && matches!(&self.state, State::Handshake(stream, ..) if has_all(stream))
    }

    /// Extends the timeout by its length.
    pub fn wait_longer(&mut self, now: Instant) {
        self.deadline = now.plus_ns(self.timeout_ns);
    }

    /// Starts a try; the socket is to be added to the poll set.
    pub fn start_connecting(
        &mut self,
        local: SocketAddr,
        device: Option<&str>,
        congestion: &str,
        now: Instant,
    ) -> Result<&TcpStream, AttemptError> {
        let connecting = socket::connect(local, device, self.remote, congestion, self.is_short);
        let stream = connecting.map_err(AttemptError::Network)?;
        self.state = State::Connecting(stream);
        // A reachable peer answers sooner; other addresses must not wait.
        let is_first_round = self.others.iter().any(|other| other.error.is_none());
        let timeout_ns = if is_first_round || self.is_crowded {
            ALTERNATIVE_TIMEOUT_NS.min(self.timeout_ns)
        } else {
            self.timeout_ns
        };
        self.deadline = now.plus_ns(timeout_ns);
        match &self.state {
            State::Connecting(stream) => Ok(stream),
            _ => Err(AttemptError::TimedOut),
        }
    }

    /// The socket is ready. `start` begins the handshake once it is connected.
    pub fn advance(
        &mut self,
        start: impl FnOnce() -> Result<(Initiator, Vec<u8>), HandshakeError>,
    ) -> Result<Option<Established>, AttemptError> {
        match std::mem::replace(&mut self.state, State::BackingOff) {
            State::BackingOff => Ok(None),
            State::Connecting(stream) => {
                if let Some(error) = stream.take_error().map_err(AttemptError::Network)? {
                    return Err(AttemptError::Network(error));
                }
                if stream.peer_addr().is_err() {
                    self.state = State::Connecting(stream);
                    return Ok(None);
                }
                let (initiator, hello) = start().map_err(AttemptError::Handshake)?;
                // An error is ignored here: the socket is tuned again once it is proven, where a failure is logged.
                let _ = socket::tune(&stream, KEEPALIVE_AFTER);
                write_whole(&stream, &hello).map_err(AttemptError::Network)?;
                self.state = State::Handshake(stream, Box::new(initiator), Vec::new());
                Ok(None)
            }
            State::Handshake(stream, initiator, received) => self.prove(stream, initiator, received),
        }
    }

    /// The try has failed. The next comes after a backoff, with segments of the usual length, at the next address; an address that
    /// has not been tried yet is tried at once.
    pub fn pause(&mut self, error: AttemptError, now: Instant) {
        self.state = State::BackingOff;
        self.is_short = false;
        self.hints = if error.is_hint() { self.hints + 1 } else { 0 };
        if error.is_detour() {
            self.error = Some(error);
            self.deadline = now.plus_ns(DETOUR_BACKOFFS_NS[self.detours % DETOUR_BACKOFFS_NS.len()]);
            self.detours += 1;
            return;
        }
        if error.is_out_of_files() {
            self.error = Some(error);
            self.deadline = now.plus_ns(MIN_BACKOFF_NS);
            return;
        }
        self.tries += 1;
        if self.is_crowded && self.tries < CROWDED_TRIES {
            self.error = Some(error);
            self.deadline = now;
            return;
        }
        self.tries = 0;
        if let Some(next) = self.others.pop_front() {
            self.others.push_back(Alternative { remote: self.remote, error: Some(error.to_string()) });
            self.remote = next.remote;
            if next.error.is_none() {
                self.error = Some(error);
                self.deadline = now;
                return;
            }
        }
        self.repetitions += 1;
        self.error = Some(error);
        self.deadline = now.plus_ns(self.backoff_ns);
        self.backoff_ns = (self.backoff_ns * 2).min(self.max_backoff_ns);
    }

    /// Whether another try is pointless after `error`: because the peer has refused for good, or because each of its addresses has
    /// given unproven refusals again and again, as a process of another job would. `was_proven`: it has been proven before.
    pub fn is_over(&self, error: &AttemptError, was_proven: bool) -> bool {
        let is_believed = !self.is_reconnect && !was_proven && self.hints + 1 >= MAX_HINTS * (self.others.len() + 1);
        error.is_final(self.is_reconnect) || (error.is_hint() && is_believed)
    }

    /// Whether the next try binds to no interface, so that the routing table decides: every other round, once all addresses have been
    /// tried.
    pub fn is_loose(&self) -> bool {
        let addresses = self.others.len() + 1;
        self.repetitions.div_ceil(addresses) % 2 == 1
    }

    /// Whether every address has been tried.
    pub fn has_tried_all(&self) -> bool {
        self.error.is_some() && self.others.iter().all(|other| other.error.is_some())
    }

    /// The errors of the last tries at all addresses: `10.0.0.2:4000: no answer`.
    pub fn errors(&self, last: &AttemptError) -> String {
        let others =
            self.others.iter().filter_map(|other| Some(format!("{}: {}", other.remote, other.error.as_ref()?)));
        let all: Vec<String> = std::iter::once(format!("{}: {last}", self.remote)).chain(others).collect();
        all.join(", ")
    }

    fn prove(
        &mut self,
        stream: TcpStream,
        mut initiator: Box<Initiator>,
        mut received: Vec<u8>,
    ) -> Result<Option<Established>, AttemptError> {
        let open = read_some(&stream, &mut received, MAX_ANSWER_LEN).map_err(AttemptError::Network)?;
        loop {
            match initiator.advance(&mut received).map_err(AttemptError::Handshake)? {
                Step::Send(message) => write_whole(&stream, &message).map_err(AttemptError::Network)?,
                Step::Done(grant) => {
                    let (addresses, is_acquainted) = (initiator.take_addresses(), initiator.is_acquainted());
                    let keys = initiator.into_keys();
                    let (early, class) = (received, self.class);
                    return Ok(Some(Established {
                        socket: stream,
                        grant,
                        early,
                        keys,
                        addresses,
                        is_acquainted,
                        class,
                    }));
                }
                Step::Wait if !open => return Err(AttemptError::Network(io::ErrorKind::ConnectionReset.into())),
                Step::Wait => {
                    self.state = State::Handshake(stream, initiator, received);
                    return Ok(None);
                }
            }
        }
    }
}
