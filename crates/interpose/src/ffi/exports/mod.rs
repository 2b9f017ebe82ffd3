//! The functions that stand in front of MPI's, by the names that programs call (`MPI_*`).
//!
//! Nothing in this crate calls them. They call the MPI library ([`super::functions`]), [`super::dispatch`] for collective
//! operations, and [`crate::progress`] for schedules that are in flight.

mod collective;
mod completion;
mod large;
mod lifetime;
mod messages;
