//! One-sided operations to peers of this host, directly in their memory: the peer need not be in MPI. Other operations go in frames,
//! as to other peers; so do invalid ones, which the peer then refuses.

use fishplate_engine::{INJECT_SIZE, ReadRequest, Registration, WriteRequest};
use fishplate_rails_shm::SharedMemoryLink;

use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;

impl Endpoint {
    /// Makes a write. False: it has to be posted.
    pub(in crate::endpoint) fn write_directly(&mut self, request: &WriteRequest) -> bool {
        let Some(at) = self.links.memory.of_peer(request.vc) else { return false };
        let Endpoint { links, engine, memory, .. } = self;
        let (link, len) = (&mut links.memory.links[at], request.payload.len());
        let is_too_long = request.inject && len > INJECT_SIZE;
        // Immediate data need a frame.
        let may = request.data.is_none() && !is_too_long && !link.hung_up && engine.may_access_directly(request.vc);
        if !may || !link.direct.write(request.to, &request.payload, memory) {
            return false;
        }
        link.common.counts.tx_bytes += len;
        link.common.counts.tx_messages += 1;
        engine.written_directly(request.clone());
        true
    }

    /// Makes a read. False: it has to be posted.
    pub(in crate::endpoint) fn read_directly(&mut self, request: &ReadRequest) -> bool {
        let Some(at) = self.links.memory.of_peer(request.vc) else { return false };
        let Endpoint { links, engine, memory, .. } = self;
        let link = &mut links.memory.links[at];
        let may = !link.hung_up && engine.may_access_directly(request.vc);
        if !may || !link.direct.read(request.from, &request.buffer, memory) {
            return false;
        }
        link.common.counts.rx_bytes += request.buffer.len();
        link.common.counts.rx_messages += 1;
        engine.read_directly(request.clone());
        true
    }

    /// Lets peers of this host access memory directly.
    pub(in crate::endpoint) fn expose(&mut self, registration: &Registration) {
        self.links.memory.iter_mut().for_each(|(_, link)| link.exposed.add(registration));
    }

    /// Ends that. When this returns, no peer accesses the memory directly any more.
    pub(in crate::endpoint) fn end_exposure(&mut self, key: u64) {
        let ended: Vec<usize> =
            self.links.memory.iter_mut().filter_map(|(at, link)| link.exposed.end(key).then_some(at)).collect();
        for at in ended {
            if let Some(Err(stuck)) = self.links.memory.get_mut(at).map(SharedMemoryLink::await_writer) {
                self.protocol_violation(LinkId::Memory(at), &stuck.to_string());
            }
        }
    }
}
