//! Packets that wait in the kernel for a verdict. Their payload stays there; only headers are looked at.

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

pub use self::packet::Stamps;
pub use self::rules::remove;

/// Packets that may wait in the kernel: as many as a link holds.
const QUEUE_PACKETS: u32 = fishplate_link::MAX_FRAMES as u32;
/// Memory for packets that the emulator has not looked at yet: 0.1 s of the shortest frames at 100 Mbit/s, or 20000.
const SOCKET_BYTES: usize = 16 << 20;
/// Verdicts are sent when so many bytes of them have come together: 512, well within what a socket sends at once.
const VERDICT_BYTES: usize = 16_384;
/// Longest packet.
const MAX_PACKET: usize = 65_535;
/// Largest message about one packet, which has a head of [`HEAD_BYTES`], or all of it, and some forty bytes of attributes.
const READ_BYTES: usize = MAX_PACKET + 4_096;

/// Packets that come in by one interface.
pub struct Queue {
    socket: OwnedFd,
    number: u16,
    mtu: u32,
    verdicts: Messages,
    buffer: Vec<u8>,
    /// The content of packets comes as well.
    has_content: bool,
    mishaps: u64,
}

/// A packet that waits.
pub struct Waiting {
    /// The kernel's number of it.
    id: u32,
    ethertype: u16,
    /// All of it, if a bit of it may be changed.
    content: Box<[u8]>,
}

impl Queue {
    /// Makes packets that come in by `interface` of this thread's namespace wait in queue `number`. Returns also what
    /// will not wait. `anew`: rules that are there already go.
    pub fn open(interface: &str, number: u16, anew: bool) -> Result<(Queue, Vec<String>)> {
        let mtu = interface::mtu(interface)?;
        let socket =
            netlink::open(SockProtocol::NetlinkNetFilter).context("no socket of the kernel's packet queues")?;
        // Without the right to more, the usual limit holds.
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
        netlink::ask(&self.socket, &mut message)?;
        Ok(())
    }

    /// With the packet's content, if that has changed.
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
            // Other messages are errors: a verdict came after its packet had gone with its interface.
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
        // Its checksum is whole: the kernel makes it before it hands over content.
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
        // Without waiting for an acknowledgement, which would come between packets.
        message.send(&self.socket).context("cannot configure a packet queue")
    }

    fn mishaps(&self) -> u64 {
        self.mishaps
    }
}

fn kind(message: i32) -> u16 {
    (libc::NFNL_SUBSYS_QUEUE << 8 | message) as u16
}

/// `struct nfqnl_msg_config_params`: so many bytes of each packet are handed over.
fn copied(bytes: usize) -> [u8; 5] {
    let [a, b, c, d] = (bytes as u32).to_be_bytes();
    [a, b, c, d, libc::NFQNL_COPY_PACKET as u8]
}

/// `struct nfgenmsg`.
fn general(queue: u16) -> [u8; 4] {
    let [high, low] = queue.to_be_bytes();
    [libc::AF_UNSPEC as u8, 0, high, low]
}
