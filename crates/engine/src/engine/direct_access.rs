//! Accesses to memory of peers that the driver makes by itself, past the protocol, where it can reach that memory. The
//! engine says whether it may, and reports them as all others.

use super::Engine;
use crate::channel::scheduler::send::Send;
use crate::ids::VcId;
use crate::matching::reassembly::Reassembly;
use crate::registered_memory::Registration;
use crate::request::{ReadRequest, WriteRequest};

impl Engine {
    /// What peers may access.
    pub fn registrations(&self) -> impl Iterator<Item = &Registration> {
        self.regions.iter()
    }

    /// Whether an access to memory of this peer may be made now: the peer is not lost, and no earlier write
    /// is on its way.
    pub fn may_access_directly(&self, vc: VcId) -> bool {
        let channel = &self.vcs[vc.0 as usize];
        !channel.loopback && channel.may_access_directly()
    }

    /// A write without immediate data was made, instead of [`Engine::post_write`].
    pub fn written_directly(&mut self, request: WriteRequest) {
        self.completions.extend(Send::write(request, true).completion(Ok(())));
    }

    /// A read was made, instead of [`Engine::post_read`].
    pub fn read_directly(&mut self, request: ReadRequest) {
        self.completions.extend(Reassembly::of_read(request).completion(false, None));
    }
}
