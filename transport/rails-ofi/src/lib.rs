//! Links over the providers of a libfabric: InfiniBand, RoCE, EFA and whatever else it has, as rails.
//!
//! A rail is one endpoint of a provider; it has a link to each peer. Short frames are sent as messages into buffers that the
//! receiver has posted; credits keep their number within the buffers of the link. Long payloads are lent: the frame says where
//! they are in the sender's registered memory, and the receiver reads them from there into their place.
//! `record` has the format; `sys` calls the libfabric, `simulated` is one for tests.
//!
//! The links of an endpoint are in `fishplate-rails`. Docs: `docs/reference/ofi.md`.
#![deny(unsafe_code)]

pub mod adapters;
mod choice;
mod description;
mod endpoint_link;
#[cfg(feature = "hostile-input")]
pub mod hostile;
mod library;
mod link;
mod rail;
mod receiver;
mod record;
mod registration_cache;
mod sender;
// Hostile input needs a part of it.
#[cfg(any(test, feature = "hostile-input"))]
#[cfg_attr(not(test), allow(dead_code, unused_imports))]
mod simulated;
#[cfg(test)]
mod simulation;
#[allow(unsafe_code)]
mod sys;
#[cfg(test)]
mod tests;
mod transport;
pub mod wanted;

pub use description::Description;
pub use endpoint_link::{OfiLink, SharedRail, lock};
#[cfg(feature = "test-support")]
pub use library::load_library;
pub use library::{find, open, use_library};
pub use link::Failure;
pub use rail::{Answer, News};

/// A rail by a real provider.
pub type Rail = rail::Rail<crate::sys::Port>;
