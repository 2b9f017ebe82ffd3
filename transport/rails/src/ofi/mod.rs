//! Links over the providers of a libfabric: InfiniBand, RoCE, EFA and whatever else it has, as rails.
//!
//! A rail is one endpoint of a provider; it has a link to each peer. Short frames are sent as messages into buffers that the
//! receiver has posted; credits keep their number within the buffers of the link. Long payloads are lent: the frame says where
//! they are in the sender's registered memory, and the receiver reads them from there into their place. `record` has the format.
//!
//! Docs: `docs/reference/ofi.md`.

pub mod adapters;
mod choice;
pub(crate) mod description;
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
#[cfg(test)]
mod tests;
mod transport;
pub mod wanted;

pub(crate) use description::Description;
pub(crate) use endpoint_link::{OfiLink, SharedRail, lock};
pub use library::use_library;
pub(crate) use library::{find, open};
pub(crate) use link::Failure;
pub(crate) use rail::{Answer, News};

/// A rail by a real provider.
pub(crate) type Rail = rail::Rail<crate::sys::ofi::Port>;
