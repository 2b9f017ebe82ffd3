//! Short frames beside a link's stream: a UDP socket of its own, connected to the peer's. Between near hosts a datagram
//! costs the kernel less time than a segment of TCP.
//!
//! A datagram is 8 bytes of secret, which the peer has sent over the stream; 4 bytes, the number of the frame; and the frame. A
//! datagram without a frame is a probe: it shows that datagrams arrive. Where frames have checksums, one of the whole datagram
//! follows.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use fishplate_engine::wire::{Body, Header, MAX_HEADER_LEN};
use fishplate_engine::{Instant, Placement, Source};
use fishplate_link_core::{BounceBuffers, CHECK_LEN, Checksum, UserMemory, random};

use super::sequence::{MAX_OUTSTANDING, place_of};
use super::stream::receive::{Arrived, ReceiveState, Unreadable};
use super::stream::transmit::append_payload;
use crate::ports::Ports;
use crate::socket;
use crate::sys::io::send_own;

/// Longest datagram, in bytes: with its headers the minimum MTU of IPv6 (RFC 8200, section 5).
pub const MAX_BYTES: usize = 1280 - 40 - 8;
/// Bytes of secret and number, ahead of the frame.
const PREFIX: usize = 12;
/// While the peer's frames come as datagrams, the stream is polled in one of this number of calls; and the other way round.
const OTHER_SOCKET_EVERY: u32 = 8;

/// The datagrams of a link.
pub struct Datagrams {
    socket: UdpSocket,
    /// The secret that the peer's datagrams begin with.
    own_secret: u64,
    /// The secret that ours begin with, once the peer has sent it.
    secret: Option<u64>,
    /// A checksum follows each.
    is_checked: bool,
    /// This side's datagrams reach the peer.
    is_open: bool,
    /// The peer's datagrams reach this side.
    pub peer_reaches_us: bool,
    /// Copies of the last datagrams sent, by number, while they are not acknowledged.
    copies: [Vec<u8>; MAX_OUTSTANDING],
    /// Number of a frame that was read and waits for an earlier one.
    early: Option<u32>,
    early_bytes: Vec<u8>,
    receive: ReceiveState,
    /// The peer's last frame came as one.
    is_preferred: bool,
    /// Polls of either socket so far.
    polls: u32,
    /// When they were polled last.
    pub polled_at: Instant,
    /// In the list of links that may have a copy to send.
    pub listed: bool,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// Not from the peer.
    Foreign,
    /// It shows that datagrams arrive.
    Probe,
    /// A frame of this number.
    Frame(u32),
    /// The peer's, but changed on its way.
    Changed,
}

impl Datagrams {
    /// Opens a socket at `local`, over `device` if there is one, on a port of `ports` if there are any, tried from that of `local` on.
    /// `is_checked`: with checksums.
    pub fn open(
        local: SocketAddr,
        device: Option<&str>,
        ports: Option<Ports>,
        is_checked: bool,
    ) -> io::Result<Datagrams> {
        Ok(Datagrams {
            socket: socket::datagrams_on(local, device, ports)?,
            own_secret: u64::from_le_bytes(random()?),
            secret: None,
            is_checked,
            is_open: false,
            peer_reaches_us: false,
            copies: std::array::from_fn(|_| Vec::with_capacity(MAX_BYTES)),
            early: None,
            early_bytes: Vec::new(),
            receive: ReceiveState::of_datagrams(MAX_BYTES + 1),
            is_preferred: false,
            polls: 0,
            polled_at: Instant(0),
            listed: false,
        })
    }

    /// The message that announces the port and secret to the peer.
    pub fn offer(&self) -> io::Result<Body> {
        let port = self.socket.local_addr()?.port();
        Ok(Body::Datagrams { port, secret: self.own_secret, received: self.peer_reaches_us })
    }

    /// The peer has announced that it receives datagrams at `remote` with `secret`, and whether this side's have arrived
    /// (`receives_ours`).
    pub fn accept(&mut self, remote: SocketAddr, secret: u64, receives_ours: bool) -> io::Result<()> {
        if self.secret != Some(secret) {
            self.socket.connect(remote)?;
            self.secret = Some(secret);
        }
        self.is_open |= receives_ours;
        self.send_probe();
        Ok(())
    }

    /// Sends a datagram without a frame, if the peer receives any: it shows that the path is open.
    pub fn send_probe(&self) {
        if let Some(secret) = self.secret {
            // An error counts as a loss.
            let prefix = prefix(secret, 0);
            let checksum = Checksum::of(&prefix).encode();
            let checksum = if self.is_checked { &checksum[..] } else { &[] };
            let _ = self.socket.send(&[&prefix, checksum].concat());
        }
    }

    /// Whether frames may be sent.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether a frame with a payload of `len` bytes is short enough.
    pub fn fits(&self, len: u64) -> bool {
        len <= (MAX_BYTES - PREFIX - MAX_HEADER_LEN - self.check_len()) as u64
    }

    fn check_len(&self) -> usize {
        if self.is_checked { CHECK_LEN } else { 0 }
    }

    /// Sends a frame under its number.
    pub fn send(
        &mut self,
        number: u32,
        (header, source): (&Header, &Source),
        memory: &UserMemory,
        bounces: &BounceBuffers,
    ) -> io::Result<()> {
        let copy = &mut self.copies[place_of(number)];
        let mut begin = [0; PREFIX + MAX_HEADER_LEN];
        begin[..PREFIX].copy_from_slice(&prefix(self.secret.unwrap_or_default(), number));
        let header_len = begin[PREFIX..].first_chunk_mut().map_or(0, |room| header.encode(room));
        copy.clear();
        copy.extend_from_slice(&begin[..PREFIX + header_len]);
        append_payload(copy, source, memory, bounces);
        if self.is_checked {
            let checksum = Checksum::of(copy).encode();
            copy.extend_from_slice(&checksum);
        }
        send_own(self.socket.as_fd(), copy).map(|_| ())
    }

    /// A frame that was sent, one of the last [`MAX_OUTSTANDING`], for the stream.
    pub fn sent_frame(&self, number: u32) -> &[u8] {
        let copy = &self.copies[place_of(number)];
        copy.get(PREFIX..copy.len().saturating_sub(self.check_len())).unwrap_or_default()
    }

    /// Number of a frame that was read and waits for an earlier one.
    pub fn early(&self) -> Option<u32> {
        self.early
    }

    /// Keeps the frame that was read last until an earlier one has come. Only one is kept: others come again over the stream.
    pub fn keep_early(&mut self, number: u32) {
        if self.early.is_none() {
            self.early = Some(number);
            self.early_bytes.clear();
            self.early_bytes.extend_from_slice(self.receive.unread_bytes());
        }
    }

    /// Makes the kept frame the one that was read last.
    pub fn resume_early(&mut self) -> io::Result<DatagramKind> {
        let number = self.early.take().ok_or(io::ErrorKind::WouldBlock)?;
        self.receive.replace(&self.early_bytes);
        Ok(DatagramKind::Frame(number))
    }

    /// Reads one. [`io::ErrorKind::WouldBlock`]: there is none.
    pub fn fill(&mut self) -> io::Result<DatagramKind> {
        let Some(begin) = self.receive.fill_whole::<PREFIX>(self.socket.as_fd())? else {
            return Ok(DatagramKind::Foreign);
        };
        let number = u32::from_le_bytes([begin[8], begin[9], begin[10], begin[11]]);
        if begin != prefix(self.own_secret, number) {
            return Ok(DatagramKind::Foreign);
        }
        if self.is_checked && !self.receive.cut_checksum() {
            return Ok(DatagramKind::Changed);
        }
        if self.receive.unread() == 0 {
            return Ok(DatagramKind::Probe);
        }
        self.is_preferred = true;
        Ok(DatagramKind::Frame(number))
    }

    /// The next part of the frame that was read.
    pub fn next(&mut self, memory: &UserMemory, bounces: &mut BounceBuffers) -> Result<Option<Arrived>, Unreadable> {
        self.receive.next(memory, bounces)
    }

    /// Whether exactly `len` bytes follow the header that was read.
    pub fn payload_is(&self, len: u64) -> bool {
        self.receive.unread() as u64 == len
    }

    /// The receive state of the datagram that was read.
    pub fn receive_mut(&mut self) -> &mut ReceiveState {
        &mut self.receive
    }

    /// Moves its payload to its place.
    pub fn place(&mut self, placement: Placement, len: u64, memory: &UserMemory, bounces: &mut BounceBuffers) {
        self.receive.expect_payload(placement, len, bounces);
        let placed = self.receive.next(memory, bounces);
        debug_assert!(matches!(placed, Ok(Some(Arrived::Payload(_)))));
    }

    /// Whether the datagrams are polled in this call, not the stream.
    pub fn polls_datagrams_next(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.is_preferred != self.polls.is_multiple_of(OTHER_SOCKET_EVERY)
    }

    /// A frame came over the stream: the next one is expected there too.
    pub fn stream_had_frame(&mut self) {
        self.is_preferred = false;
    }
}

fn prefix(secret: u64, number: u32) -> [u8; PREFIX] {
    let mut bytes = [0; PREFIX];
    bytes[..8].copy_from_slice(&secret.to_le_bytes());
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    bytes
}
