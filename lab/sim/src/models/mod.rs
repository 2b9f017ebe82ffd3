//! Models of hardware, composed from few parts: stations, links, adapters, and flows over paths through them.

pub mod adapter;
pub mod flow;
pub mod network;
pub mod path;
pub mod shaper;
pub mod socket;
pub mod station;
pub mod time;
