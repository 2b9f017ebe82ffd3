//! The NFQUEUE backend: packets wait in the kernel for a verdict. Only their headers are copied to the emulator.

mod interface;
mod packet;
mod rules;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockProtocol, recv, setsockopt, sockopt};

use self::packet::{Packet, WallClock};
use crate::flip::flip;
use crate::frame::HEAD_BYTES;
use crate::netlink::{self, Messages};
use crate::wire::{Arrival, BATCH, Wire};

pub use self::packet::Timestamps;
pub use self::rules::remove;

/// Limit of the number of packets that wait in the kernel: that of a link.
const QUEUE_PACKETS: u32 = fishplate_link::MAX_FRAMES as u32;
/// Socket buffer for packets that the emulator has not received yet: 20000 packets, 0.1 s of minimum-size frames at
/// 100 Mbit/s.
const SOCKET_BYTES: usize = 16 << 20;
/// Size of a batch of verdicts after which it is sent: 512 verdicts, well below the limit of a socket's send buffer.
const VERDICT_BYTES: usize = 16_384;
/// Maximum length of an IP packet.
const MAX_PACKET: usize = 65_535;
/// Maximum size of a message about one packet: the packet, and some forty bytes of attributes.
const READ_BYTES: usize = MAX_PACKET + 4_096;

/// The queue of packets received by one interface.
pub struct Queue {
    socket: OwnedFd,
    number: u16,
    mtu: u32,
    verdicts: Messages,
    buffer: Vec<u8>,
    /// Whether the whole content of packets is copied.
    has_content: bool,
    mishaps: u64,
}

/// A packet that waits for its verdict.
pub struct Waiting {
    /// The kernel's number of the packet.
    id: u32,
    ethertype: u16,
    /// The whole packet if a bit of it may be flipped, else empty.
    content: Box<[u8]>,
}

impl Queue {
    /// Makes packets received by `interface` of this thread's namespace wait in queue `number`. `anew`: removes existing rules.
    /// Returns also a description of the packets that will not wait.
    pub fn open(interface: &str, number: u16, anew: bool) -> Result<(Queue, Vec<String>)> {
        let mtu = interface::mtu(interface)?;
        let socket =
            netlink::open(SockProtocol::NetlinkNetFilter).context("no socket of the kernel's packet queues")?;
        // Without the privilege, the default limit applies.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BYTES);
        let (verdicts, buffer) = (Messages::default(), vec![0; READ_BYTES]);
        let queue = Queue { socket, number, mtu, verdicts, buffer, has_content: false, mishaps: 0 };
        queue.bind().context("the kernel has no packet queues (nfnetlink_queue)")?;
        let notes = rules::install(interface, number, anew)?;
        Ok((queue, notes))
    }

    fn bind(&self) -> Result<()> {
        let command = [libc::NFQNL_CFG_CMD_BIND as u8, 0, 0, 0];
        self.configure(|message| {
            message.attribute(libc::NFQA_CFG_CMD, &command);
        })?;
        self.configure(|message| {
            message
                .attribute(libc::NFQA_CFG_PARAMS, &copied(HEAD_BYTES))
                .attribute(libc::NFQA_CFG_QUEUE_MAXLEN, &QUEUE_PACKETS.to_be_bytes());
        })
    }

    fn configure(&self, fill: impl FnOnce(&mut Messages)) -> Result<()> {
        let mut message = Messages::default();
        fill(message.begin(kind(libc::NFQNL_MSG_CONFIG), libc::NLM_F_ACK, &general(self.number)));
        netlink::query(&self.socket, &mut message)?;
        Ok(())
    }

    /// Adds a verdict to the batch, with the packet's content if it was changed.
    fn verdict(&mut self, id: u32, verdict: i32, content: Option<&[u8]>) {
        let value = [(verdict as u32).to_be_bytes(), id.to_be_bytes()].concat();
        let message = self.verdicts.begin(kind(libc::NFQNL_MSG_VERDICT), 0, &general(self.number));
        message.attribute(libc::NFQA_VERDICT_HDR, &value);
        if let Some(content) = content {
            message.attribute(libc::NFQA_PAYLOAD, content);
        }
        if self.verdicts.len() >= VERDICT_BYTES && self.flush().is_err() {
            self.mishaps += 1;
        }
    }
}

impl Wire for Queue {
    type Frame = Waiting;

    fn readable(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&mut self, arrivals: &mut Vec<Arrival<Waiting>>) -> Result<()> {
        let clock = WallClock::read();
        for _ in 0..BATCH {
            let length = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => length,
                Err(Errno::EAGAIN) => break,
                Err(Errno::ENOBUFS) => {
                    self.mishaps += 1;
                    continue;
                }
                Err(error) => return Err(error).context("cannot read a packet queue"),
            };
            // Other messages are errors: the packet of a verdict was dropped together with its interface.
            for message in netlink::messages(&self.buffer[..length]) {
                if message.kind == kind(libc::NFQNL_MSG_PACKET)
                    && let Some(packet) = Packet::read(message.body)
                {
                    let content = if self.has_content { packet.content() } else { &[] };
                    arrivals.push(Arrival {
                        frame: Waiting { id: packet.id, ethertype: packet.ethertype, content: content.into() },
                        wire_bytes: packet.wire_bytes(self.mtu),
                        age_ns: packet.age_ns(&clock),
                    });
                }
            }
        }
        Ok(())
    }

    fn deliver(&mut self, mut packet: Waiting, random: Option<u64>) -> bool {
        // Its checksum is complete: the kernel computes it before it copies the content.
        let is_flipped = random.is_some_and(|random| flip(packet.ethertype, &mut packet.content, random, true));
        self.verdict(packet.id, libc::NF_ACCEPT, is_flipped.then_some(&*packet.content));
        is_flipped
    }

    fn discard(&mut self, packet: Waiting) {
        self.verdict(packet.id, libc::NF_DROP, None);
    }

    fn flush(&mut self) -> Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        self.verdicts.send(&self.socket).context("cannot answer a packet queue")
    }

    fn take_whole(&mut self, whole: bool, changes: bool) -> Result<()> {
        let flags = if whole { libc::NFQA_CFG_F_GSO } else { 0 } as u32;
        self.has_content = changes;
        let mut message = Messages::default();
        message
            .begin(kind(libc::NFQNL_MSG_CONFIG), 0, &general(self.number))
            .attribute(libc::NFQA_CFG_PARAMS, &copied(if changes { MAX_PACKET } else { HEAD_BYTES }))
            .attribute(libc::NFQA_CFG_FLAGS, &flags.to_be_bytes())
            .attribute(libc::NFQA_CFG_MASK, &(libc::NFQA_CFG_F_GSO as u32).to_be_bytes());
        // Does not wait for an acknowledgement, which would be received among packets.
        message.send(&self.socket).context("cannot configure a packet queue")
    }

    fn mishaps(&self) -> u64 {
        self.mishaps
    }
}

fn kind(message: i32) -> u16 {
    (libc::NFNL_SUBSYS_QUEUE << 8 | message) as u16
}

/// `struct nfqnl_msg_config_params`: the number of bytes of each packet that are copied.
fn copied(bytes: usize) -> [u8; 5] {
    let [a, b, c, d] = (bytes as u32).to_be_bytes();
    [a, b, c, d, libc::NFQNL_COPY_PACKET as u8]
}

/// `struct nfgenmsg`.
fn general(queue: u16) -> [u8; 4] {
    let [high, low] = queue.to_be_bytes();
    [libc::AF_UNSPEC as u8, 0, high, low]
}
