//! The emulator's end of the control channel: requests in, responses out.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;

use crate::message::{Request, Response};

/// Longest line that is taken: far more than a plan of the most rails needs.
const MAX_LINE_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 65_536;

/// Lines in, lines out.
pub struct ControlChannel {
    input: File,
    output: File,
    /// What has come and is not a whole line yet.
    unread: Vec<u8>,
}

impl ControlChannel {
    pub fn new(input: OwnedFd, output: OwnedFd) -> ControlChannel {
        ControlChannel { input: input.into(), output: output.into(), unread: Vec::new() }
    }

    /// Waits for a line. Nothing if the other side is gone.
    pub fn read_request<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(line) = self.next_line() {
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if !self.listen()? {
                return Ok(None);
            }
        }
    }

    /// A request that has come, as far as it could be read.
    pub fn next_request(&mut self) -> Option<Result<Request>> {
        let line = self.next_line()?;
        Some(serde_json::from_slice(&line).context("not a request"))
    }

    pub fn say(&mut self, response: &Response) -> Result<()> {
        let mut line = serde_json::to_vec(response)?;
        line.push(b'\n');
        self.output.write_all(&line).context("nobody hears this emulator")
    }

    pub fn readable(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Takes what has come, when [`ControlChannel::readable`] says that something has. False if the other side is gone.
    pub fn listen(&mut self) -> Result<bool> {
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
