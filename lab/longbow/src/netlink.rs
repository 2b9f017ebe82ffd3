//! Netlink sockets, and messages with attributes.

use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Bytes of `struct nlattr`.
const ATTRIBUTE_HEADER: usize = 4;
/// Size of the receive buffer: far larger than the messages expected here.
const READ_BYTES: usize = 32_768;
/// Bits of an attribute's type that are flags.
const TYPE_FLAGS: u16 = (libc::NLA_F_NESTED | libc::NLA_F_NET_BYTEORDER) as u16;

/// Opens a socket of a netlink protocol in this thread's network namespace.
pub fn open(protocol: SockProtocol) -> Result<OwnedFd> {
    let made = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    bind(made.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    Ok(made)
}

/// A batch of messages under construction.
#[derive(Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// Offset of the last message.
    last: usize,
}

impl Messages {
    /// Begins a message with the fixed header of its kind.
    pub fn begin(&mut self, kind: u16, flags: i32, fixed: &[u8]) -> &mut Messages {
        self.last = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes.extend_from_slice(fixed);
        self.close()
    }

    /// Adds an attribute to the last message.
    pub fn attribute(&mut self, kind: impl TryInto<u16>, value: &[u8]) -> &mut Messages {
        append_attribute(&mut self.bytes, kind, value);
        self.close()
    }

    /// Adds an attribute that contains attributes.
    pub fn nested(&mut self, kind: i32, attributes: &[u8]) -> &mut Messages {
        self.attribute(kind | libc::NLA_F_NESTED, attributes)
    }

    fn close(&mut self) -> &mut Messages {
        let length = (self.bytes.len() - self.last) as u32;
        self.bytes[self.last..self.last + 4].copy_from_slice(&length.to_ne_bytes());
        self
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sends all messages with one system call, and clears the batch.
    pub fn send(&mut self, socket: &OwnedFd) -> Result<()> {
        let sent = send(socket.as_raw_fd(), &self.bytes, MsgFlags::empty());
        self.bytes.clear();
        sent?;
        Ok(())
    }
}

/// Adds an attribute to a list of them.
pub fn append_attribute(bytes: &mut Vec<u8>, kind: impl TryInto<u16>, value: &[u8]) {
    let kind = kind.try_into().unwrap_or(0);
    bytes.extend_from_slice(&((ATTRIBUTE_HEADER + value.len()) as u16).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A received message.
pub struct Message<'a> {
    pub kind: u16,
    pub body: &'a [u8],
}

/// The messages in a received datagram.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Message { kind, body })
    })
}

/// The attributes in a part of a message, each with its kind.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & !TYPE_FLAGS;
        let value = bytes.get(ATTRIBUTE_HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Sends `request` and waits for the response or acknowledgement. No other messages may be pending on `socket`.
pub fn query(socket: &OwnedFd, request: &mut Messages) -> Result<Vec<u8>> {
    request.send(socket).context("netlink refuses a message")?;
    let mut buffer = vec![0; READ_BYTES];
    let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).context("netlink does not answer")?;
    buffer.truncate(length);
    for message in messages(&buffer) {
        if i32::from(message.kind) == libc::NLMSG_ERROR {
            let code = message.body.get(..4).and_then(|code| code.try_into().ok()).map_or(0, i32::from_ne_bytes);
            if code != 0 {
                return Err(Errno::from_raw(-code).into());
            }
        }
    }
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        let (mut written, mut inside) = (Messages::default(), Vec::new());
        append_attribute(&mut inside, 1, &[9]);
        written.begin(7, 0, &[1, 2, 3, 4]).attribute(5, b"abc").nested(6, &inside);
        written.begin(8, 0, &[]);
        let read: Vec<Message<'_>> = messages(&written.bytes).collect();
        assert_eq!((read.len(), read[0].kind, read[1].kind), (2, 7, 8));
        let found: Vec<(u16, &[u8])> = attributes(&read[0].body[4..]).collect();
        assert_eq!(found[0], (5, &b"abc"[..]));
        assert_eq!((found[1].0, attributes(found[1].1).next()), (6, Some((1, &[9][..]))));
    }

    #[test]
    fn nonsense_ends_the_reading() {
        for bytes in [&[][..], &[0; 16], &[255; 40], &[17, 0, 0, 0, 0, 0]] {
            assert!(messages(bytes).count() <= 1);
            assert!(attributes(bytes).count() <= 1);
        }
    }
}
