//! Connections: how links to peers come up, fail, come back and end.
//!
//! `connect` sets up those that this endpoint begins, `accept` takes those of peers. `link_failure` handles links that fail
//! or are shut, and peers that are lost; `flap_damping` says how long a failed rail is kept out. `eviction` gives
//! idle ones back where files run short, `refuser` answers those for whom there is no file.
//! `close` ends the whole endpoint in good order. `names` has what
//! messages call peers. `seeking` has the peers to which there is no way yet, `patience` says how long they are waited for.
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
mod names;
mod patience;
mod refuser;
mod reserve;
mod seeking;
