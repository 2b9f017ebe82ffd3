//! The mapping between address vector indices and the endpoint's virtual channels.

use fishplate_engine::VcId;
use fishplate_rails::Endpoint as Transport;
use ofi_abi::{FI_ADDR_NOTAVAIL, FI_EINVAL};

use crate::address_vector::AddressVector;
use crate::errno::{Errno, Outcome};

/// No virtual channel yet.
const NONE: u32 = u32::MAX;

/// Virtual channels by index, and indices by virtual channel. Filled on demand, as most entries of a large address vector are never
/// used.
#[derive(Default)]
pub struct Peers {
    channels: Vec<u32>,
    indices: Vec<u64>,
}

impl Peers {
    /// The virtual channel to the peer at `index`, if it has been needed before.
    #[inline]
    pub fn known(&self, index: u64) -> Option<VcId> {
        match self.channels.get(index as usize) {
            Some(&channel) if channel != NONE => Some(VcId(channel)),
            _ => None,
        }
    }

    /// The virtual channel to the peer at `index`, made if there is none.
    #[cold]
    pub fn resolve(&mut self, index: u64, vector: &AddressVector, transport: &mut Transport) -> Outcome<VcId> {
        let address = vector.get(index).ok_or(Errno(FI_EINVAL))?;
        let channel = transport.peer(&address);
        self.note(index, channel);
        Ok(channel)
    }

    /// The index of the peer behind `channel`. If the peer has sent before anything was sent to it, all addresses are searched.
    pub fn index(&mut self, channel: VcId, vector: &AddressVector, transport: &mut Transport) -> u64 {
        let known = self.known_index(channel);
        if known != FI_ADDR_NOTAVAIL {
            return known;
        }
        for index in 0..vector.len() as u64 {
            if self.known(index).is_none() && self.resolve(index, vector, transport) == Ok(channel) {
                return index;
            }
        }
        FI_ADDR_NOTAVAIL
    }

    pub fn forget(&mut self, index: u64) {
        if let Some(channel) = self.channels.get_mut(index as usize) {
            *channel = NONE;
        }
        // Another index may have the same address.
        for (channel, of) in self.indices.iter_mut().enumerate() {
            if *of == index {
                let other = self.channels.iter().position(|other| *other == channel as u32);
                *of = other.map_or(FI_ADDR_NOTAVAIL, |other| other as u64);
            }
        }
    }

    fn known_index(&self, channel: VcId) -> u64 {
        self.indices.get(channel.0 as usize).copied().unwrap_or(FI_ADDR_NOTAVAIL)
    }

    fn note(&mut self, index: u64, channel: VcId) {
        // The address vector bounds the index, the transport numbers its channels from zero.
        let (at, of) = (index as usize, channel.0 as usize);
        if self.channels.len() <= at {
            self.channels.resize(at + 1, NONE);
        }
        self.channels[at] = channel.0;
        if self.indices.len() <= of {
            self.indices.resize(of + 1, FI_ADDR_NOTAVAIL);
        }
        if self.indices[of] == FI_ADDR_NOTAVAIL {
            self.indices[of] = index;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_index_of_a_peer_names_it_until_it_is_forgotten() {
        let mut peers = Peers::default();
        peers.note(3, VcId(0));
        peers.note(5, VcId(0));
        assert_eq!(peers.known(3), Some(VcId(0)));
        assert_eq!(peers.known(4), None);
        assert_eq!(peers.known(u64::MAX), None);
        assert_eq!(peers.known_index(VcId(0)), 3);
        peers.forget(3);
        assert_eq!(peers.known(3), None);
        assert_eq!(peers.known_index(VcId(0)), 5);
        peers.forget(5);
        assert_eq!(peers.known_index(VcId(0)), FI_ADDR_NOTAVAIL);
    }
}
