//! Set-up of the links of a rail.

use fishplate_link_core::random;

use super::Rail;
use crate::description::Description;
use crate::link::{Failure, Greeting, Link};
use crate::record::LinkKey;
use crate::sender::{BARE, CREDITS, Sender};
use crate::sys::{ConnectionEvent, Error, PeerAddress, Provider, Request};
use crate::transport::RECORD;

/// Receive buffers for each link.
pub const RECEIVES: usize = CREDITS as usize + BARE;

/// The result of a peer's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was known before.
    Known,
    /// The set-up goes on with it.
    Taken,
    /// The link belongs to an earlier end of the peer, which is gone: it has to be removed.
    Outdated,
}

impl<P: Provider> Rail<P> {
    /// Makes a link to a peer, which is to be sent its description.
    pub fn offer(&mut self) -> Result<usize, Error> {
        let secret = random().map_or(0, u64::from_le_bytes);
        self.serial = self.serial.wrapping_add(1);
        let entry = self.links.vacant_entry();
        let at = entry.key();
        let link = u32::from(self.serial) << 16 | at as u32 & 0xffff;
        entry.insert(Link::new(link, secret));
        if let Err(error) = self.add_receives() {
            self.links.remove(at);
            return Err(error);
        }
        Ok(at)
    }

    /// The description of a link for its peer. It may be sent again.
    pub fn description(&self, at: usize) -> Option<Description> {
        let &Link { id: link, secret, .. } = self.links.get(at).filter(|_| self.is_open())?;
        let (provider, fabric, address) = (self.provider.clone(), self.fabric.clone(), self.address.clone());
        Some(Description { provider, fabric, ordinal: self.ordinal, address, link, secret })
    }

    /// The peer has sent its description. If the answer is [`Answer::Taken`], the peer may not have this side's description: it is to
    /// be sent again, unless that has just been done.
    pub fn answer(&mut self, at: usize, theirs: &Description) -> Result<Answer, Error> {
        let key = theirs.key();
        match self.links.get(at) {
            Some(link) if link.theirs == Some(key) => return Ok(Answer::Known),
            // The earlier end knows the secret, and its records may still come.
            Some(link) if link.is_paired => return Ok(Answer::Outdated),
            Some(link) if link.theirs.is_some() => self.forget_peer(at),
            _ => {}
        }
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else {
            return Ok(Answer::Known);
        };
        link.theirs = Some(key);
        match transport.port.connected() {
            None => {
                link.peer = Some(transport.port.insert(&theirs.address)?);
                link.is_connected = true;
            }
            // Both sides know both secrets: one of them connects, the other accepts.
            Some(connected) if link.peer.is_none() && (link.secret, link.id) < (theirs.secret, theirs.link) => {
                link.peer = Some(connected.connect(&theirs.address, &encode_request(key), &mut self.unposted)?);
            }
            Some(_) => {}
        }
        self.begin(at);
        Ok(Answer::Taken)
    }

    /// Forgets the description of a link's peer.
    fn forget_peer(&mut self, at: usize) {
        self.disconnect(at);
        if let Some(link) = self.links.get_mut(at) {
            (link.peer, link.theirs, link.sender) = (None, None, None);
            (link.is_connected, link.greeting) = (false, Greeting::Nothing);
        }
    }

    /// Handles an event of a connection.
    pub(super) fn handle_connection(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Requested(request) => self.handle_request(request),
            ConnectionEvent::Connected(peer) => {
                if let Some(at) = self.find_peer(peer) {
                    self.links[at].is_connected = true;
                    self.begin(at);
                }
            }
            ConnectionEvent::Ended(peer, why) => {
                if let Some(at) = self.find_peer(peer) {
                    self.links[at].end.get_or_insert(Failure::Broken(why));
                    self.list(at);
                }
            }
        }
    }

    /// Closes the connection of a link, if it has one of its own. Its operations access no memory any more.
    pub(super) fn disconnect(&mut self, at: usize) -> bool {
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else { return false };
        let Some(connected) = transport.port.connected() else { return false };
        let peer = link.peer.take();
        peer.inspect(|peer| connected.disconnect(*peer)).is_some()
    }

    /// Accepts a connection for the link that the request names, if the peer knows its secret.
    fn handle_request(&mut self, request: Request) {
        let named = decode_request(&request.data).and_then(|key| {
            let at = self.find(key.link)?;
            let link = &self.links[at];
            (link.secret == key.secret && link.peer.is_none() && link.failure.is_none()).then_some(at)
        });
        let Some(connected) = self.transport.as_mut().and_then(|transport| transport.port.connected()) else { return };
        let Some(at) = named else {
            log::debug!("rail {}: a connection that belongs to no link is refused", self.name);
            connected.refuse(request);
            return;
        };
        match connected.accept(request, &mut self.unposted) {
            Ok(peer) => self.links[at].peer = Some(peer),
            Err(error) => self.fail(at, Failure::Broken(error.to_string())),
        }
    }

    /// Greets the peer of a link, once its address and key are known.
    fn begin(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at) else { return };
        let (Some(peer), Some(key), true) = (link.peer, link.theirs, link.is_connected) else { return };
        link.sender.get_or_insert_with(|| Sender::new(peer, key, u64::from(link.id) << 32));
        if link.greeting == Greeting::Nothing && !link.is_up {
            link.is_paired |= link.is_heard();
            link.greeting = if link.is_paired { Greeting::Welcome } else { Greeting::Hello };
        }
        self.list(at);
    }

    fn find_peer(&self, peer: PeerAddress) -> Option<usize> {
        self.links.iter().find(|(_, link)| link.peer == Some(peer)).map(|(at, _)| at)
    }

    /// Adds receive buffers, so that there are enough for all links.
    fn add_receives(&mut self) -> Result<(), Error> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let wanted = self.links.len() * RECEIVES;
        if wanted > self.receives {
            self.unposted.extend(transport.port.buffers(wanted - self.receives, RECORD)?);
            self.receives = wanted;
        }
        self.post();
        Ok(())
    }
}

/// The data of a connection request: the key of the receiver's link.
fn encode_request(key: LinkKey) -> [u8; 12] {
    let mut out = [0; 12];
    out[..4].copy_from_slice(&key.link.to_le_bytes());
    out[4..].copy_from_slice(&key.secret.to_le_bytes());
    out
}

/// Decodes the data of a request; providers may append bytes.
fn decode_request(data: &[u8]) -> Option<LinkKey> {
    let (link, rest) = data.split_first_chunk()?;
    let secret = rest.first_chunk()?;
    Some(LinkKey { link: u32::from_le_bytes(*link), secret: u64::from_le_bytes(*secret) })
}
