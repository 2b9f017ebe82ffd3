//! The functions that stand in front of MPI's, but for the collective ones, which [`super::call`] defines.

mod completion;
mod large;
mod lifetime;
mod messages;
