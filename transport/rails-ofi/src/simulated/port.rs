//! A simulated endpoint.

use std::time::{Duration, Instant};

use fishplate_engine::{Extent, Payload};
use fishplate_link_core::UserMemory;
use ofi_abi::{FI_EADDRNOTAVAIL, FI_ENOMEM};

use super::happens;
use super::network::{Into, Read, Registered, SharedNetwork};
use crate::sys::{Buffer, Error, Event, LentPiece, PeerAddress, Posted, Provider, Remote};

/// Completions that are taken at a time, as from a real one.
const BATCH: usize = 16;

/// An endpoint.
pub struct SimulatedPort {
    network: SharedNetwork,
    at: usize,
    origin: Instant,
}

/// Memory that peers may read until this is dropped.
pub struct SimulatedRegistration {
    network: SharedNetwork,
    key: u64,
}

impl SimulatedPort {
    /// Opens one at a place.
    pub fn open(network: &SharedNetwork, place: usize) -> SimulatedPort {
        let at = network.borrow_mut().add_end(place);
        SimulatedPort { network: network.clone(), at, origin: Instant::now() }
    }
}

impl Drop for SimulatedPort {
    fn drop(&mut self) {
        self.network.borrow_mut().close(self.at);
    }
}

impl Drop for SimulatedRegistration {
    fn drop(&mut self) {
        self.network.borrow_mut().registrations.remove(&self.key);
    }
}

impl Provider for SimulatedPort {
    type Registration = SimulatedRegistration;

    fn address(&self) -> Result<Vec<u8>, Error> {
        Ok((self.at as u64).to_le_bytes().to_vec())
    }

    fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error> {
        let known = address.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let known = known.filter(|at| address.len() == 8 && *at < self.network.borrow().ends.len() as u64);
        known.map(PeerAddress).ok_or_else(|| error("fi_av_insert", FI_EADDRNOTAVAIL))
    }

    fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error> {
        self.network.borrow_mut().ends[self.at].buffers += count;
        Ok(Buffer::unregistered(count, len))
    }

    fn lend(&self, _: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece<SimulatedRegistration>>, Error> {
        let lend = |extent: &Extent| {
            let mut network = self.network.borrow_mut();
            let unregistered = network.mood.unregistered;
            if happens(&mut network.rng, unregistered) {
                return Err(error("fi_mr_reg", FI_ENOMEM));
            }
            let (address, len, key) = (extent.region.0.wrapping_add(extent.offset), extent.len, network.rng.u64(..));
            network.registrations.insert(key, Registered { end: self.at, address, len });
            let registration = SimulatedRegistration { network: self.network.clone(), key };
            Ok(LentPiece { _registration: registration, address, key, len })
        };
        payload.extents().iter().filter(|extent| extent.len > 0).map(lend).collect()
    }

    fn inject_len(&self) -> usize {
        self.network.borrow().mood.inject_len
    }

    fn receive(&mut self, buffer: Buffer) -> Posted<Buffer> {
        let mut network = self.network.borrow_mut();
        if network.is_busy() {
            return Posted::Again(buffer);
        }
        network.post(self.at, buffer);
        Posted::Yes
    }

    fn send(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> Posted<Buffer> {
        let mut network = self.network.borrow_mut();
        if network.is_busy() {
            return Posted::Again(buffer);
        }
        let bytes = buffer.bytes()[..len].to_vec();
        network.send((self.at, peer.0 as usize), bytes, Some((buffer, tag)));
        Posted::Yes
    }

    fn inject(&mut self, bytes: &[u8], peer: PeerAddress) -> Result<Posted<()>, Error> {
        let mut network = self.network.borrow_mut();
        if network.is_busy() {
            return Ok(Posted::Again(()));
        }
        network.send((self.at, peer.0 as usize), bytes.to_vec(), None);
        Ok(Posted::Yes)
    }

    fn read(&mut self, to: (&UserMemory, &Payload), from: Remote, peer: PeerAddress, tag: u64) -> Posted<()> {
        let (_, Payload::One(extent)) = to else { panic!("a read into several pieces") };
        self.begin(Into::User(*extent), extent.len, (from, peer, tag))
    }

    fn read_own(&mut self, own: Vec<u8>, from: Remote, peer: PeerAddress, tag: u64) -> Posted<()> {
        let len = own.len() as u64;
        self.begin(Into::Own(own), len, (from, peer, tag))
    }

    fn poll(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        self.network.borrow_mut().poll(self.at, BATCH, events)
    }

    fn now(&self) -> Instant {
        self.origin + Duration::from_nanos(self.network.borrow().now_ns)
    }
}

impl SimulatedPort {
    fn begin(&self, into: Into, len: u64, (from, peer, tag): (Remote, PeerAddress, u64)) -> Posted<()> {
        let mut network = self.network.borrow_mut();
        if network.is_busy() {
            return Posted::Again(());
        }
        network.read(Read { reader: self.at, source: peer.0 as usize, from, into, len, tag });
        Posted::Yes
    }
}

fn error(call: &'static str, number: i32) -> Error {
    Error { call, number, text: "the simulation says so".into() }
}
