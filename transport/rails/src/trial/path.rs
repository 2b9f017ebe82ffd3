//! The trying side.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{ECHO, LONG, LONG_BYTES, Offer, OfferedRail, PATIENCE, datagrams};
use crate::discover::Class;
use crate::pairing;
use crate::ports::Ports;
use crate::probe;
use crate::rail::Rail;
use crate::socket;
use crate::sys::tcp_info::{TcpInfo, tcp_info};

/// Measurements of the round trip. The minimum counts, or the kernel's own, which needs no process at the other end.
const ECHOES: usize = 5;

/// The trials of a rail with a peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PairTrial {
    /// Its name.
    pub rail: String,
    /// Ways that were tried, in order, until one connected. Empty: the rail leads to no address of the peer.
    pub paths: Vec<PathTrial>,
}

/// From an address of a rail to one of a peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathTrial {
    /// Local address.
    pub from: IpAddr,
    /// Address of the peer.
    pub to: IpAddr,
    /// Name of the rail that has that address.
    pub to_rail: String,
    /// The result.
    pub outcome: Outcome,
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A connection.
    Connected(Carried),
    /// None.
    Failed {
        /// Why.
        failure: Failure,
        /// The peer's kernel answers at another port, over this rail.
        host_answers: bool,
    },
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// Nothing came back.
    Silence,
    /// Somebody refused it.
    Refused,
    /// Another program accepted it, or it was ended.
    Broken,
    /// The kernel, or a router, has no route.
    NoWay(String),
}

/// Measurements of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Least round trip, in microseconds.
    pub round_trip_us: f64,
    /// The peer's rail that the connection came over; `None`: another interface, or the peer cannot tell.
    pub arrived_over: Option<String>,
    /// Whether full segments arrive.
    pub long_arrives: bool,
    /// Bytes of the longest packet that arrives as a datagram, up to the rail's MTU; `None`: no datagram does.
    pub longest_datagram: Option<u32>,
}

/// Tries each of `rails`, given with their MTUs, with a peer; interfaces in reserve, of either side, only where no rail connects.
/// `own`: all addresses of this host.
pub fn try_all(rails: &[(Rail, u32)], own: &[IpAddr], peer: &Offer, ports: Option<Ports>) -> Vec<PairTrial> {
    let only_rails: Vec<Rail> = rails.iter().map(|(rail, _)| rail.clone()).collect();
    let addresses = |rail: &OfferedRail| rail.addresses.iter().map(|(ip, _)| *ip).collect();
    let remotes: Vec<Vec<IpAddr>> = peer.rails.iter().map(addresses).collect();
    let preferred = peer.rails.iter().take_while(|rail| !rail.is_in_reserve).count();
    let there = pairing::Peer { rails: &remotes, preferred, own };
    let try_class = |class| try_pairs(rails, &pairing::pair_class(&only_rails, there, class), own, peer, ports);
    let mut tried = try_class(Class::Rail);
    let lone = Rail::preferred(&only_rails).iter().filter(|rail| tried.iter().all(|trial| trial.rail != rail.name));
    let lone: Vec<PairTrial> = lone.map(|rail| PairTrial { rail: rail.name.clone(), paths: Vec::new() }).collect();
    tried.extend(lone);
    let connects = |trial: &PairTrial| trial.paths.iter().any(|path| matches!(path.outcome, Outcome::Connected(_)));
    for class in Class::ALL.into_iter().filter(|class| *class != Class::Rail) {
        if tried.iter().any(connects) {
            break;
        }
        tried.extend(try_class(class));
    }
    tried
}

fn try_pairs(
    rails: &[(Rail, u32)],
    pairs: &[pairing::Pair],
    own: &[IpAddr],
    peer: &Offer,
    ports: Option<Ports>,
) -> Vec<PairTrial> {
    thread::scope(|scope| {
        let begin = |pair: &pairing::Pair| {
            let ((rail, mtu), remotes) = (&rails[pair.local], pair.remotes.clone());
            scope.spawn(move || try_pair(rail, *mtu, &remotes, own, peer, ports))
        };
        let threads: Vec<_> = pairs.iter().map(begin).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn try_pair(
    rail: &Rail,
    mtu: u32,
    remotes: &[IpAddr],
    own: &[IpAddr],
    peer: &Offer,
    ports: Option<Ports>,
) -> PairTrial {
    let attempt = |to: &IpAddr| {
        Some(Attempt { rail, mtu, from: rail.source_for(*to)?, to: *to, is_here: own.contains(to), peer, ports })
    };
    let attempts: Vec<Attempt> = remotes.iter().filter_map(attempt).collect();
    // The first address alone, as it mostly connects; then all others at the same time, as each may time out. The first in order
    // that connects counts, as endpoints try them in turn.
    let mut paths = Vec::new();
    let (first, others) = attempts.split_at(attempts.len().min(1));
    for attempts in [first, others] {
        let begun: Vec<Result<TcpStream, Outcome>> = thread::scope(|scope| {
            let threads: Vec<_> = attempts.iter().map(|attempt| scope.spawn(|| attempt.begin())).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        for (attempt, begun) in attempts.iter().zip(begun) {
            let outcome = begun.map_or_else(|failed| failed, |stream| attempt.finish(stream));
            let is_connected = matches!(outcome, Outcome::Connected(_));
            let has_it = |other: &&OfferedRail| other.addresses.iter().any(|(ip, _)| *ip == attempt.to);
            let to_rail = peer.rails.iter().find(has_it).map_or(String::new(), |rail| rail.name.clone());
            paths.push(PathTrial { from: attempt.from, to: attempt.to, to_rail, outcome });
            if is_connected {
                return PairTrial { rail: rail.name.clone(), paths };
            }
        }
    }
    PairTrial { rail: rail.name.clone(), paths }
}

struct Attempt<'a> {
    rail: &'a Rail,
    mtu: u32,
    from: IpAddr,
    to: IpAddr,
    is_here: bool,
    peer: &'a Offer,
    ports: Option<Ports>,
}

impl Attempt<'_> {
    fn device(&self) -> Option<&str> {
        self.rail.device().filter(|_| !self.is_here)
    }

    fn begin(&self) -> Result<TcpStream, Outcome> {
        self.connect().map_err(|error| self.failed(failure(&error)))
    }

    fn finish(&self, stream: TcpStream) -> Outcome {
        self.use_it(stream).map_or_else(|_| self.failed(Failure::Broken), Outcome::Connected)
    }

    fn failed(&self, failure: Failure) -> Outcome {
        let host_answers = matches!(probe::round_trip(self.rail, self.to, self.is_here), Ok(Some(_)));
        Outcome::Failed { failure, host_answers }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let socket = socket::bound(self.rail.at(self.from, 0), self.device())?;
        socket.connect_timeout(&self.rail.at(self.to, self.peer.port).into(), PATIENCE)?;
        Ok(socket.into())
    }

    fn use_it(&self, mut stream: TcpStream) -> io::Result<Carried> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        stream.write_all(&self.peer.secret)?;
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        let arrived_over = self.peer.rails.get(usize::from(byte[0])).map(|rail| rail.name.clone());
        let mut least = PATIENCE;
        for _ in 0..ECHOES {
            let start = Instant::now();
            stream.write_all(&[ECHO])?;
            stream.read_exact(&mut byte)?;
            least = least.min(start.elapsed());
        }
        if let Ok(TcpInfo { min_rtt_ns: of_kernel @ 1.., .. }) = tcp_info(stream.as_fd()) {
            least = least.min(Duration::from_nanos(of_kernel));
        }
        let longest_datagram = self.longest_datagram(least).ok().flatten();
        let mut long = vec![0; 1 + LONG_BYTES];
        long[0] = LONG;
        let long_arrives = stream.write_all(&long).and_then(|()| stream.read_exact(&mut byte)).is_ok();
        Ok(Carried { round_trip_us: least.as_nanos() as f64 / 1e3, arrived_over, long_arrives, longest_datagram })
    }

    fn longest_datagram(&self, round_trip: Duration) -> io::Result<Option<u32>> {
        let mut addresses = self.peer.rails.iter().flat_map(|rail| &rail.addresses);
        let Some(port) = addresses.find_map(|(ip, port)| port.filter(|_| *ip == self.to)) else { return Ok(None) };
        let socket = socket::datagrams_on(self.rail.at(self.from, 0), self.device(), self.ports)?;
        datagrams::longest(&socket, self.rail.at(self.to, port), &self.peer.secret, self.mtu, round_trip)
    }
}

fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Failure::Silence,
        ErrorKind::ConnectionRefused => Failure::Refused,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Failure::Broken,
        _ => Failure::NoWay(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rail::tests::rail;
    use crate::trial::answer;

    fn loopback() -> Rail {
        rail("lo", 1, &["127.0.0.1/8"])
    }

    #[test]
    fn loopback_carries_all_up_to_its_mtu() {
        let rail = loopback();
        let offer = answer::begin(std::slice::from_ref(&rail), None).unwrap();
        let own = [rail.ip()];
        let tried = try_all(&[(rail, 1500)], &own, &offer, None);
        assert_eq!((tried.len(), tried[0].rail.as_str(), tried[0].paths.len()), (1, "lo", 1));
        let path = &tried[0].paths[0];
        assert_eq!((path.to, path.to_rail.as_str()), (own[0], "lo"));
        let Outcome::Connected(carried) = &path.outcome else { panic!("{path:?}") };
        assert!(carried.round_trip_us > 0.0 && carried.long_arrives, "{carried:?}");
        assert_eq!(carried.longest_datagram, Some(1500));
    }

    #[test]
    fn without_the_secret_there_is_no_answer_and_a_port_without_a_listener_refuses() {
        let rail = loopback();
        let offer = answer::begin(std::slice::from_ref(&rail), None).unwrap();
        let outcome = |peer: &Offer| {
            let tried = try_all(&[(rail.clone(), 1500)], &[rail.ip()], peer, None);
            tried[0].paths[0].outcome.clone()
        };
        let stranger = Offer { secret: [7; 16], ..offer.clone() };
        assert_eq!(outcome(&stranger), Outcome::Failed { failure: Failure::Broken, host_answers: true });
        // Bound, but without a listener.
        let bound = socket::bound(rail.at(rail.ip(), 0), None).unwrap();
        let port = bound.local_addr().unwrap().as_socket().unwrap().port();
        let closed = Offer { port, ..offer };
        assert_eq!(outcome(&closed), Outcome::Failed { failure: Failure::Refused, host_answers: true });
    }

    #[test]
    fn a_rail_that_leads_to_no_address_of_the_peer_has_no_paths() {
        let peer = "fd00::1".parse().unwrap();
        let rails = vec![OfferedRail { name: "r0".into(), is_in_reserve: false, addresses: vec![(peer, None)] }];
        let offer = Offer { rails, port: 9, secret: [0; 16] };
        let tried = try_all(&[(loopback(), 1500)], &[], &offer, None);
        assert_eq!(tried, [PairTrial { rail: "lo".into(), paths: Vec::new() }]);
    }
}
