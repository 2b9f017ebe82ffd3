//! Messages between processes of this library, with memory of its own.

use std::ffi::c_int;

use super::abi::Abi;
use super::datatype::byte;
use super::functions::{Address, collective};
use super::memory::Memory;
use super::objects::{Comm, Result};
use super::requests::Requests;

/// Messages in flight.
pub struct Mailbox {
    abi: &'static Abi,
    requests: Requests,
    /// By label; none where a message is done.
    messages: Vec<Option<Vec<u8>>>,
}

impl Mailbox {
    /// None yet.
    pub fn new(abi: &'static Abi) -> Mailbox {
        Mailbox { abi, requests: Requests::new(abi), messages: Vec::new() }
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Sends; gives a label.
    pub fn send(&mut self, comm: Comm, message: Vec<u8>, to: usize, tag: c_int) -> Result<usize> {
        let (label, memory) = self.keep(message);
        self.requests.send(label, comm, memory, to, tag)?;
        Ok(label)
    }

    /// Receives so many bytes; gives a label.
    pub fn receive(&mut self, comm: Comm, len: usize, from: usize, tag: c_int) -> Result<usize> {
        let (label, memory) = self.keep(vec![0; len]);
        self.requests.receive(label, comm, memory, from, tag)?;
        Ok(label)
    }

    /// Takes part in a broadcast of so many bytes: the message at the root, as many of anything elsewhere.
    pub fn broadcast(&mut self, comm: Comm, message: Vec<u8>, root: usize) -> Result<usize> {
        let (label, memory) = self.keep(message);
        let (address, count) = (memory.address(), memory.count());
        let byte = self.abi.byte;
        // SAFETY: memory of that many bytes, kept until the broadcast is done.
        let start = |slot| unsafe { collective::ibcast(address, count, byte, root as c_int, comm.0, slot) };
        self.requests.add(label, start)?;
        Ok(label)
    }

    /// Takes receives back to which nothing has come.
    pub fn cancel(&mut self) -> Result<()> {
        self.requests.cancel()
    }

    /// What is done: labels and messages.
    pub fn completed(&mut self) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut labels = Vec::new();
        self.requests.complete(&mut labels)?;
        Ok(labels.into_iter().filter_map(|label| Some((label, self.messages[label].take()?))).collect())
    }

    fn keep(&mut self, message: Vec<u8>) -> (usize, Memory) {
        self.messages.push(Some(message));
        let label = self.messages.len() - 1;
        let memory = self.messages[label].as_mut().map(|message| {
            // SAFETY: the message's own bytes, which stay where they are until it is taken out when done.
            unsafe { Memory::new(message.as_mut_ptr() as Address, message.len(), byte(self.abi)) }
        });
        (label, memory.unwrap_or(Memory::none(byte(self.abi))))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            // MPI may still read and write there.
            std::mem::forget(std::mem::take(&mut self.messages));
        }
    }
}
