//! Stages in the life of an endpoint.

use crate::events::Time;

/// How far the endpoint of a host is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Not at all.
    #[default]
    Open,
    /// It waits until everything is acknowledged, since then.
    Draining(Time),
    /// It has said goodbye.
    Parting,
}
