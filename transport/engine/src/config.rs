//! Settings of an engine.

use crate::limits::MAX_ANNOUNCED;
use crate::policy::{Multiplexing, Striping};
use crate::processor::ProcessorCost;

/// Settings of one engine, for all of its virtual channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How whole messages are spread.
    pub multiplexing: Multiplexing,
    /// How long messages are cut.
    pub striping: Striping,
    /// Longest message, in bytes, that is sent without a handshake; `None`: chosen by path and the peer's grant.
    pub eager_limit: Option<u64>,
    /// Whether the start of a long message goes before its CTS. Always faster, so that it is no setting of users.
    pub early_data: bool,
    /// Whether padding measures the rates of paths that carry nothing. Always wanted by policies that weigh paths by rate,
    /// so that it is no setting of users.
    pub measures_rates: bool,
    /// Whether responses to reads are to be copied when they are sent ([`Transmit::copy`](crate::Transmit::copy)): registered
    /// memory may change at any time.
    pub copies_responses: bool,
    /// Bytes of unexpected messages that one peer may leave here, to start with.
    pub grant: u64,
    /// The grant of a peer that is distant, or sends many short messages, may grow to this, in bytes.
    pub max_grant: u64,
    /// Bytes that all peers together may be granted. Beyond that a new peer gets
    /// [`MIN_GRANT`](crate::limits::MIN_GRANT), and no grant grows.
    pub memory: u64,
    /// How long a peer may be without any subchannel before its operations fail, in nanoseconds.
    pub rail_timeout_ns: u64,
    /// Messages that one peer may announce beyond its grant; see [`MAX_ANNOUNCED`].
    pub max_announced: u64,
    /// Assumed processor cost of frames, until [`Engine::processor_measured`](crate::Engine::processor_measured).
    pub processor: ProcessorCost,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            multiplexing: Multiplexing::default(),
            striping: Striping::default(),
            eager_limit: None,
            early_data: true,
            measures_rates: true,
            copies_responses: false,
            grant: 4 * 1024 * 1024,
            // A few round trips of 10 Gbit/s over 10 ms one way.
            max_grant: 128 << 20,
            memory: 512 << 20,
            // As long as the kernel's TCP tries (`net.ipv4.tcp_retries2`).
            rail_timeout_ns: 900_000_000_000,
            max_announced: MAX_ANNOUNCED,
            processor: ProcessorCost::default(),
        }
    }
}
