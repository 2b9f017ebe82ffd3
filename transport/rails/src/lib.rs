//! Real rails for the Fishplate engine: TCP sockets, one or more a network interface and peer, and the driver that
//! pumps an engine over them. `fishplate-rails-shm` and `fishplate-rails-ofi` have links of other kinds, which it drives too.
//!
//! - [`Endpoint`]: an engine with its sockets. `fishplate-provider` opens one for each libfabric endpoint, and calls it
//!   whenever MPI calls; nothing moves by itself.
//! - [`discover`]: network interfaces that are rails, and the reasons against others (`fishplate rails`).
//! - [`trial`]: reachability of another host over rails, with sizes of packets (`fishplate doctor`).
//! - [`Settings`]: the environment variables.
//! - [`live`]: the page that each process keeps for `fishplate top`; [`rail_bytes`]: its counters from inside, for profiles.
//!
//! ```
//! // Settings and their allowed values: the table of docs/reference/settings.md.
//! let timeout = fishplate_rails::settings::VARIABLES.iter().find(|variable| variable.name == "FISHPLATE_TIMEOUT");
//! assert_eq!(timeout.unwrap().default, "900; for a peer that has not been reached yet 30, or as long as the process has run");
//! ```
#![deny(unsafe_code)]

mod ablation;
mod absence;
pub mod address;
mod announce;
mod await_rails;
mod clock;
mod connect;
mod counters;
pub mod discover;
pub mod encryption;
pub mod endpoint;
pub mod handshake;
pub mod hints;
mod keepalive;
mod link;
mod link_name;
mod listen;
pub mod live;
mod logger;
pub mod netlink;
pub mod numa;
mod open_files;
pub mod own_sockets;
pub mod pairing;
mod poller;
pub mod ports;
pub mod probe;
pub mod process;
mod processor_time;
pub mod rail;
pub mod rail_bytes;
pub mod secret;
pub mod settings;
mod socket;
pub mod streams;
#[allow(unsafe_code)]
mod sys;
pub mod ticks;
pub mod transfer;
pub mod trial;

/// Version of the wire format, which must be equal for all processes of a job.
pub use fishplate_engine::wire::VERSION as WIRE_VERSION;

pub use address::{ADDRESS_LEN, Address};
pub use endpoint::{Endpoint, OpenError, PostError};
#[cfg(feature = "hostile-input")]
pub use link::changed_stream;
pub use settings::Settings;
pub use sys::preemption::preemptions;
