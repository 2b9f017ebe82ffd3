//! What scenarios are made of: rails as they are without anything going wrong, and messages.

use fishplate_engine::{Config, Envelope, Pattern, Space};
use fishplate_link::Settings;
use fishplate_sim::transport::{HostId, Outgoing, Path, Rail, Scenario, Setup, Socket};

pub const MS: u64 = 1_000_000;
pub const GIGABIT: f64 = 125e6;
pub const ANY_TAG: Pattern = Pattern { space: Space::Tagged { tag: 0, ignore: u64::MAX }, source: None };

/// The first rail of a pair.
pub const PATH: Path = Path { a: HostId(0), b: HostId(1), rail: 0 };

/// Bytes of a packet beside its 1448 bytes of payload, as a share of these.
const OVERHEAD: f64 = 90.0 / 1448.0;

/// As the driver's sockets are, with a window that does not limit, and three packets at a time.
const SOCKET: Socket = Socket {
    unsent_bytes: 128 << 10,
    window_bytes: 64 << 20,
    segment_bytes: 3 * 1448,
    budget_bytes: Socket::BUDGET_BYTES,
};

/// A rail of this rate of payload, without the headers of packets, and this one-way delay.
pub fn rail(bytes_per_s: f64, delay_ns: u64) -> Rail {
    let bits_per_s = (8.0 * bytes_per_s * (1.0 + OVERHEAD)) as u64;
    let rate = Some(bits_per_s.try_into().expect("a rate"));
    Rail { link: Settings { rate, delay_ns, ..Settings::default() }, rate_known: true }
}

/// Two hosts.
pub fn pair(rails: Vec<Rail>, config: Config) -> Scenario {
    Scenario::new(Setup::quiet_pair(rails, config, SOCKET))
}

/// More hosts.
pub fn hosts(hosts: usize, rails: Vec<Rail>, config: Config) -> Scenario {
    Scenario::new(Setup { hosts, ..Setup::quiet_pair(rails, config, SOCKET) })
}

/// A message of which the sender hears when it was acknowledged.
pub fn tagged(to: usize, tag: u64, len: u64) -> Outgoing {
    let (to, envelope) = (HostId(to), Envelope::Tagged(tag));
    Outgoing { to, envelope, len, inject: false, notify: true, may_be_buffered: false }
}
