//! Begins messages and remote reads, and handles their completions.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::time::Instant;

use fishplate_engine::Payload;
use fishplate_link_core::UserMemory;
use ofi_abi::{FI_ADDR_UNSPEC, FI_EAGAIN, FI_EAVAIL, fi_cq_err_entry, fi_cq_msg_entry};

use super::Error;
use super::address::PeerAddress;
use super::buffer::Buffer;
use super::object::Object;
use super::operation::{Event, Operation, Posted, Remote, What};
use super::port::{Endpoints, Port};
use super::provider::{Connected, Provider};
use super::registration::{LentPiece, Registration, Use, lend, register_own};

/// Completions that one call reads.
const BATCH: usize = 16;

impl Provider for Port {
    type Registration = Registration;

    fn address(&self) -> Result<Vec<u8>, Error> {
        match &self.endpoints {
            Endpoints::Datagram(endpoint) => endpoint.address(&self.domain),
            Endpoints::Connected(connections) => Ok(connections.address().to_vec()),
        }
    }

    fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error> {
        match &mut self.endpoints {
            Endpoints::Datagram(endpoint) => endpoint.insert(&self.domain, address).map(PeerAddress),
            Endpoints::Connected(_) => Err(self.library().error("fi_av_insert", ofi_abi::FI_EOPBADSTATE)),
        }
    }

    fn connected(&mut self) -> Option<&mut dyn Connected> {
        match self.endpoints {
            Endpoints::Connected(_) => Some(self),
            Endpoints::Datagram(_) => None,
        }
    }

    fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error> {
        Buffer::several(&self.domain, count, len)
    }

    fn lend(&self, memory: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece>, Error> {
        lend(&self.domain, memory, payload)
    }

    #[inline]
    fn inject_len(&self) -> usize {
        self.domain.offer.inject_len()
    }

    #[inline]
    fn receive(&mut self, buffer: Buffer) -> Posted<Buffer> {
        let (endpoint, connection) = match &mut self.endpoints {
            Endpoints::Datagram(endpoint) => (endpoint.endpoint.as_ptr(), None),
            Endpoints::Connected(connections) => match connections.take_lacking() {
                Some(peer) => (connections.endpoint(peer).map_or(null_mut(), Object::as_ptr), Some(peer)),
                None => return Posted::Again(buffer),
            },
        };
        let (start, len, descriptor) = (buffer.start(), buffer.bytes().len(), buffer.descriptor());
        let at = match self.insert_operation(What::Receive(buffer), connection) {
            Ok(at) => at,
            Err(what) => {
                self.still_lacks(connection);
                return Posted::Again(what.into_buffer());
            }
        };
        // SAFETY: a live endpoint, as connections that are closed lack nothing; the buffer and the context stay until the
        // completion has come.
        let returned = unsafe {
            ((*(*endpoint).msg).recv)(endpoint, start.cast(), len, descriptor, FI_ADDR_UNSPEC, self.context(at))
        };
        if returned == -(FI_EAGAIN as isize) {
            self.still_lacks(connection);
        }
        self.posted("fi_recv", at, returned, What::into_buffer)
    }

    #[inline]
    fn send(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> Posted<Buffer> {
        let Some((endpoint, address)) = self.endpoint_to(peer) else {
            self.failed.push(Event::Sent(buffer, tag, Err(self.is_closed("fi_send"))));
            return Posted::Yes;
        };
        let (start, descriptor) = (buffer.start(), buffer.descriptor());
        let len = len.min(buffer.bytes().len());
        let connection = self.connection(peer);
        let at = match self.insert_operation(What::Send { buffer, tag }, connection) {
            Ok(at) => at,
            Err(what) => return Posted::Again(what.into_buffer()),
        };
        // SAFETY: as before.
        let returned =
            unsafe { ((*(*endpoint).msg).send)(endpoint, start.cast(), len, descriptor, address, self.context(at)) };
        self.posted("fi_send", at, returned, What::into_buffer)
    }

    #[inline]
    fn inject(&mut self, bytes: &[u8], peer: PeerAddress) -> Result<Posted<()>, Error> {
        let (endpoint, address) = self.endpoint_to(peer).ok_or_else(|| self.is_closed("fi_inject"))?;
        // SAFETY: a live endpoint; the bytes need to stay only during the call.
        let returned = unsafe { ((*(*endpoint).msg).inject)(endpoint, bytes.as_ptr().cast(), bytes.len(), address) };
        if returned == -(FI_EAGAIN as isize) {
            return Ok(Posted::Again(()));
        }
        self.library().check("fi_inject", returned).map(|_| Posted::Yes)
    }

    #[inline]
    fn read(&mut self, (memory, to): (&UserMemory, &Payload), from: Remote, peer: PeerAddress, tag: u64) -> Posted<()> {
        let Some(part) = memory.parts(to, 0, u64::MAX).next() else { return Posted::Again(()) };
        self.read_into(part, None, from, peer, tag)
    }

    #[inline]
    fn read_own(&mut self, mut own: Vec<u8>, from: Remote, peer: PeerAddress, tag: u64) -> Posted<()> {
        let part = std::ptr::slice_from_raw_parts_mut(own.as_mut_ptr(), own.len());
        self.read_into(part, Some(own), from, peer, tag)
    }

    #[inline]
    fn poll(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        if !self.failed.is_empty() {
            events.append(&mut self.failed);
            return Ok(true);
        }
        self.poll_queue(events)
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}

impl Port {
    fn still_lacks(&mut self, connection: Option<PeerAddress>) {
        if let (Endpoints::Connected(connections), Some(peer)) = (&mut self.endpoints, connection) {
            connections.lacks(peer);
        }
    }

    fn read_into(
        &mut self,
        part: *mut [u8],
        own: Option<Vec<u8>>,
        from: Remote,
        peer: PeerAddress,
        tag: u64,
    ) -> Posted<()> {
        // SAFETY: user memory stays until the read has ended, as its completion comes only then; other memory is kept here.
        let registration = match unsafe { register_own(&self.domain, part, Use::Destination) } {
            Ok(registration) => registration,
            Err(error) => {
                self.failed.push(Event::Read(tag, own, Err(error)));
                return Posted::Yes;
            }
        };
        let Some((endpoint, address)) = self.endpoint_to(peer) else {
            self.failed.push(Event::Read(tag, own, Err(self.is_closed("fi_read"))));
            return Posted::Yes;
        };
        let descriptor = registration.as_ref().map_or(null_mut(), Registration::descriptor);
        let connection = self.connection(peer);
        let what = What::Read { tag, _registration: registration, own };
        let Ok(at) = self.insert_operation(what, connection) else { return Posted::Again(()) };
        // SAFETY: as of all operations.
        let returned = unsafe {
            let read = (*(*endpoint).rma).read;
            read(endpoint, part.cast(), part.len(), descriptor, address, from.address, from.key, self.context(at))
        };
        self.posted("fi_read", at, returned, |_| ())
    }

    /// Reads a batch of completions. True if there were any.
    pub(super) fn poll_queue(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        let mut entries = [const { MaybeUninit::<fi_cq_msg_entry>::uninit() }; BATCH];
        // SAFETY: a live queue, in the format of these entries, and memory for that number of them.
        let returned = unsafe {
            let queue = self.queue.as_ptr();
            ((*(*queue).ops).read)(queue, entries.as_mut_ptr().cast(), BATCH)
        };
        if returned == -(FI_EAGAIN as isize) {
            return Ok(false);
        }
        if returned == -(FI_EAVAIL as isize) {
            return self.poll_error(events);
        }
        let count = self.library().check("fi_cq_read", returned)?;
        for entry in &entries[..count.min(BATCH)] {
            // SAFETY: the call has written that many.
            let (context, len) = unsafe { ((*entry.as_ptr()).op_context, (*entry.as_ptr()).len) };
            events.extend(self.ended(context, None).map(|what| what.event(len, Ok(()))));
        }
        Ok(count > 0)
    }

    fn poll_error(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        // SAFETY: integers and pointers may be zero.
        let mut entry: fi_cq_err_entry = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: a live queue, and an entry of the newest length.
        let returned = unsafe {
            let queue = self.queue.as_ptr();
            ((*(*queue).ops).readerr)(queue, &raw mut entry, 0)
        };
        if returned == -(FI_EAGAIN as isize) {
            return Ok(false);
        }
        self.library().check("fi_cq_readerr", returned)?;
        let error = |call| self.library().error(call, entry.err);
        let (sent, received, read) = (error("fi_send"), error("fi_recv"), error("fi_read"));
        let what = self.ended(entry.op_context, Some(&received));
        events.extend(what.map(|what| {
            let error = match &what {
                What::Receive(_) => received,
                What::Send { .. } => sent,
                What::Read { .. } => read,
            };
            what.event(0, Err(error))
        }));
        Ok(true)
    }

    /// Adds an operation, and returns its key; gives it back if there is no room for its completion now.
    fn insert_operation(&mut self, what: What, connection: Option<PeerAddress>) -> Result<usize, What> {
        if !self.under_way.begins(&what) {
            return Err(what);
        }
        let entry = self.operations.vacant_entry();
        let at = entry.key();
        entry.insert(Box::new(Operation { providers: [null_mut(); 8], at, connection, what: Some(what) }));
        Ok(at)
    }

    fn context(&mut self, at: usize) -> *mut c_void {
        (&raw mut *self.operations[at]).cast()
    }

    /// Converts the return value of the call that begins operation `at`.
    fn posted<T>(&mut self, call: &'static str, at: usize, returned: isize, back: impl Fn(What) -> T) -> Posted<T> {
        if returned == 0 {
            return Posted::Yes;
        }
        let Some(what) = self.operations.remove(at).what else { return Posted::Yes };
        self.under_way.ends(&what);
        if returned == -(FI_EAGAIN as isize) {
            return Posted::Again(back(what));
        }
        let error = self.library().error(call, -returned as i32);
        self.failed.push(what.event(0, Err(error)));
        Posted::Yes
    }

    /// Removes the operation of a completion, which has failed if there is an `error`.
    fn ended(&mut self, context: *mut c_void, error: Option<&Error>) -> Option<What> {
        if context.is_null() {
            return None;
        }
        // SAFETY: the context of an operation whose completion has not come before, so a live `Operation`.
        let at = unsafe { (*context.cast::<Operation>()).at };
        let operation = self.operations.try_remove(at)?;
        if let (Endpoints::Connected(connections), Some(peer)) = (&mut self.endpoints, operation.connection)
            && matches!(operation.what, Some(What::Receive(_)))
        {
            match error {
                Some(error) => connections.has_failed(peer, error),
                None => connections.lacks(peer),
            }
        }
        operation.what.inspect(|what| self.under_way.ends(what))
    }

    fn connection(&self, peer: PeerAddress) -> Option<PeerAddress> {
        matches!(self.endpoints, Endpoints::Connected(_)).then_some(peer)
    }

    fn is_closed(&self, call: &'static str) -> Error {
        self.library().error(call, ofi_abi::FI_ENOTCONN)
    }
}
