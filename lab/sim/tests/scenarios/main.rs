//! Scripted runs of the transport in simulation, watched by the oracles: how long things take, which frames are sent, and what
//! becomes of given moments that seeds may miss.

mod acknowledgements;
mod distance;
mod eviction;
mod failures;
mod floods;
mod network;
mod speed;
