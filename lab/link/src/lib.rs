//! A model of one direction of a link: decides when each frame arrives, and which frames are lost.
//!
//! `fishplate-longbow` passes real packets through it, `fishplate-sim` frames of a simulation.
//!
//! ```
//! use fishplate_link::{Instant, Link, Offered, Rate, Settings};
//!
//! let settings = Settings { rate: Some(Rate::mbit(1000)), delay_ns: 1_000_000, ..Settings::default() };
//! let mut link = Link::new(settings, 1);
//! assert_eq!(link.offer(Instant(0), "frame", 1250), Offered::Taken);
//! // 10 us until its last bit has left, 1 ms on the way.
//! assert_eq!(link.next_delivery(), Some(Instant(1_010_000)));
//! assert_eq!(link.deliver(Instant(1_010_000)).map(|delivery| delivery.token), Some("frame"));
//! ```
//!
//! A link reads no clock: every call is passed the time. Its random numbers come from a seed, so equal calls give equal
//! results. It does not see the content of a frame: a frame is a token of the caller and a size on the wire ([`ethernet`]).
//!
//! `examples/long_haul.rs` fills a long link faster than it drains.
#![forbid(unsafe_code)]

pub mod ethernet;
mod link;
mod loss;
mod rate;
mod settings;
mod time;

pub use link::{Counters, Delivery, Link, MAX_FRAMES, Offered};
pub use loss::Loss;
pub use rate::Rate;
pub use settings::Settings;
pub use time::Instant;
