//! Messages of this library, in memory of its own.

use std::ffi::c_int;

use super::abi::Abi;
use super::call;
use super::datatype::byte;
use super::functions::Address;
use super::memory::Memory;
use super::objects::{Comm, Result};
use super::requests::Requests;

pub struct Mailbox {
    abi: &'static Abi,
    requests: Requests,
    /// Buffers by label; `None` for completed messages.
    messages: Vec<Option<Vec<u8>>>,
}

impl Mailbox {
    pub fn new(abi: &'static Abi) -> Mailbox {
        Mailbox { abi, requests: Requests::new(abi), messages: Vec::new() }
    }

    /// Whether no message is active.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Starts to send a message. Returns its label.
    pub fn send(&mut self, comm: Comm, message: Vec<u8>, to: usize, tag: c_int) -> Result<usize> {
        let (label, memory) = self.keep(message);
        self.requests.send(label, comm, memory, to, tag)?;
        Ok(label)
    }

    /// Starts to receive `len` bytes. Returns the label of the message.
    pub fn receive(&mut self, comm: Comm, len: usize, from: usize, tag: c_int) -> Result<usize> {
        let (label, memory) = self.keep(vec![0; len]);
        self.requests.receive(label, comm, memory, from, tag)?;
        Ok(label)
    }

    /// Starts a broadcast. `message` contains the data at the root, and must have the same length elsewhere.
    pub fn broadcast(&mut self, comm: Comm, message: Vec<u8>, root: usize) -> Result<usize> {
        let (label, memory) = self.keep(message);
        let (address, count) = (memory.address(), memory.count());
        let byte = self.abi.byte;
        // SAFETY: memory of that many bytes, kept until the broadcast is complete.
        let start = |slot| unsafe { call::Ibcast(address, count, byte, root as c_int, comm.0, slot) };
        self.requests.add(label, start)?;
        Ok(label)
    }

    /// Cancels receives that have no message yet.
    pub fn cancel(&mut self) -> Result<()> {
        self.requests.cancel()
    }

    pub fn completed(&mut self) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut labels = Vec::new();
        self.requests.complete(&mut labels)?;
        Ok(labels.into_iter().filter_map(|label| Some((label, self.messages[label].take()?))).collect())
    }

    fn keep(&mut self, message: Vec<u8>) -> (usize, Memory) {
        self.messages.push(Some(message));
        let label = self.messages.len() - 1;
        let memory = self.messages[label].as_mut().map(|message| {
            // SAFETY: the bytes of the message, which are not moved or freed until it is complete.
            unsafe { Memory::new(message.as_mut_ptr() as Address, message.len(), byte(self.abi)) }
        });
        (label, memory.unwrap_or(Memory::none(byte(self.abi))))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            // MPI may still access the buffers.
            std::mem::forget(std::mem::take(&mut self.messages));
        }
    }
}
