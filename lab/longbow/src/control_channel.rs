//! The emulator's end of the control channel: receives requests, sends responses.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;

use crate::message::{Request, Response};

/// Limit of the length of a request: far more than a plan with the maximum number of rails needs.
const MAX_LINE_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 65_536;

/// Requests and responses, one line each.
pub struct ControlChannel {
    input: File,
    output: File,
    /// Received bytes that are not a whole line yet.
    unread: Vec<u8>,
}

impl ControlChannel {
    pub fn new(input: OwnedFd, output: OwnedFd) -> ControlChannel {
        ControlChannel { input: input.into(), output: output.into(), unread: Vec::new() }
    }

    /// Waits for a request. `None` if the peer closed the channel.
    pub fn read_request<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(line) = self.next_line() {
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if !self.read_available()? {
                return Ok(None);
            }
        }
    }

    /// The next request received, or the error of parsing it; `None` if there is none yet.
    pub fn next_request(&mut self) -> Option<Result<Request>> {
        let line = self.next_line()?;
        Some(serde_json::from_slice(&line).context("not a request"))
    }

    pub fn respond(&mut self, response: &Response) -> Result<()> {
        let mut line = serde_json::to_vec(response)?;
        line.push(b'\n');
        self.output.write_all(&line).context("the lab of this emulator has ended")
    }

    pub fn readable(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Reads available bytes once [`ControlChannel::readable`] is readable. False if the peer closed the channel.
    pub fn read_available(&mut self) -> Result<bool> {
        let mut buffer = [0; READ_BYTES];
        let length = match self.input.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => bail!("cannot read requests: {error}"),
        };
        self.unread.extend_from_slice(&buffer[..length]);
        ensure!(self.unread.len() <= MAX_LINE_BYTES, "a request of more than {MAX_LINE_BYTES} bytes");
        Ok(length > 0)
    }

    fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.unread.iter().position(|byte| *byte == b'\n')?;
        let rest = self.unread.split_off(end + 1);
        self.unread.truncate(end);
        Some(std::mem::replace(&mut self.unread, rest))
    }
}
