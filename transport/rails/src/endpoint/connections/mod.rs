//! Connections: how links to peers come up, fail, come back and end.
//!
//! `connect` sets up connections to peers, `accept` takes those of peers. `link_failure` handles links that fail or are shut, and
//! peers that are lost; `flap_damping` says for how long a failed rail is kept out. `eviction` gives idle connections back where
//! files run short, `refuser` answers connections for which there is no file. `close` ends the whole endpoint in good order.
//! `names` has the names of peers in messages to the user. `seeking` has the peers to which there is no way yet, `patience` says
//! how long they are waited for.
//!
//! Called by the progress loop, by the two paths when a socket fails, and by the user (`close`).

mod accept;
pub(in crate::endpoint) mod attempts;
pub(in crate::endpoint) mod by_need;
mod close;
mod connect;
mod eviction;
pub(in crate::endpoint) mod flap_damping;
mod link_failure;
pub(in crate::endpoint) mod listening;
pub(in crate::endpoint) mod names;
mod patience;
mod refuser;
mod reserve;
mod seeking;
