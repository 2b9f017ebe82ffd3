//! Connections to peers, for providers that need one for each.

use super::address::PeerAddress;
use super::connections::{ConnectionEvent, Request};
use super::operation::Operation;
use super::port::{Endpoints, Port};
use super::provider::{Connected, Provider};
use super::{Buffer, Error, Posted};

impl Connected for Port {
    fn connect(&mut self, address: &[u8], data: &[u8], receives: &mut Vec<Buffer>) -> Result<PeerAddress, Error> {
        // The address comes from the peer: it must have the provider's length.
        if self.address()?.len() != address.len() {
            return Err(self.library().error("fi_connect", ofi_abi::FI_EINVAL));
        }
        let towards = self.domain.offer.towards(address)?;
        let Endpoints::Connected(connections) = &mut self.endpoints else { return Err(self.no_connections()) };
        // SAFETY: of this domain's provider.
        let peer = unsafe { connections.open(&self.domain, &self.queue, &towards) }?;
        self.begin(peer, receives, |connections, library| connections.connect(library, peer, address, data))
    }

    fn accept(&mut self, request: Request, receives: &mut Vec<Buffer>) -> Result<PeerAddress, Error> {
        let Endpoints::Connected(connections) = &mut self.endpoints else { return Err(self.no_connections()) };
        // SAFETY: of this domain's provider.
        let opened = unsafe { connections.open(&self.domain, &self.queue, &request.info) };
        let peer = opened.inspect_err(|_| connections.refuse(&request))?;
        self.begin(peer, receives, |connections, library| connections.accept(library, peer))
    }

    fn refuse(&mut self, request: Request) {
        if let Endpoints::Connected(connections) = &self.endpoints {
            connections.refuse(&request);
        }
    }

    fn disconnect(&mut self, peer: PeerAddress) {
        let Endpoints::Connected(connections) = &mut self.endpoints else { return };
        if !connections.close(peer) {
            return;
        }
        let mut ended = std::mem::take(&mut self.failed);
        // Completions from before, or by the close.
        while self.poll_queue(&mut ended).unwrap_or(false) {}
        let closed = self.library().error("the connection", ofi_abi::FI_ECANCELED);
        let is_of_it = |operation: &&mut Box<Operation>| operation.connection == Some(peer);
        let operations = self.operations.iter_mut().map(|(_, operation)| operation).filter(is_of_it);
        let given_up =
            operations.filter_map(|operation| operation.what.take().inspect(|what| self.under_way.ends(what)));
        ended.extend(given_up.map(|what| what.event(0, Err(closed.clone()))));
        self.failed = ended;
    }

    fn poll_connections(&mut self, events: &mut Vec<ConnectionEvent>) -> Result<(), Error> {
        let Endpoints::Connected(connections) = &mut self.endpoints else { return Ok(()) };
        connections.poll(&self.domain.offer.library, events)
    }
}

impl Port {
    /// Posts receive buffers for a connection, and then begins it.
    fn begin(
        &mut self,
        peer: PeerAddress,
        receives: &mut Vec<Buffer>,
        begin: impl Fn(&super::connections::Connections, &super::Library) -> Result<(), Error>,
    ) -> Result<PeerAddress, Error> {
        while let Some(buffer) = receives.pop() {
            if let Posted::Again(buffer) = self.receive(buffer) {
                receives.push(buffer);
                break;
            }
        }
        let Endpoints::Connected(connections) = &self.endpoints else { return Err(self.no_connections()) };
        let begun = begin(connections, self.library());
        begun.inspect_err(|_| self.disconnect(peer)).map(|()| peer)
    }

    fn no_connections(&self) -> Error {
        self.library().error("fi_connect", ofi_abi::FI_EOPBADSTATE)
    }
}
