//! Packets that wait in the kernel for a verdict. Their payload stays there; only headers are looked at.

mod interface;
mod packet;
mod rules;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockProtocol, recv, setsockopt, sockopt};

use self::packet::{Packet, WallClock};
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
/// Largest message about one packet, which has a head of [`HEAD_BYTES`] and some forty bytes of attributes.
const READ_BYTES: usize = 4_096;

/// Packets that come in by one interface.
pub struct Queue {
    socket: OwnedFd,
    number: u16,
    mtu: u32,
    verdicts: Messages,
    buffer: Vec<u8>,
    mishaps: u64,
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
        let queue =
            Queue { socket, number, mtu, verdicts: Messages::default(), buffer: vec![0; READ_BYTES], mishaps: 0 };
        queue.bind().context("the kernel has no packet queues (nfnetlink_queue)")?;
        let notes = rules::install(interface, number, anew)?;
        Ok((queue, notes))
    }

    fn bind(&self) -> Result<()> {
        let command = [libc::NFQNL_CFG_CMD_BIND as u8, 0, 0, 0];
        self.configure(|message| {
            message.attribute(libc::NFQA_CFG_CMD, &command);
        })?;
        let mut parameters = (HEAD_BYTES as u32).to_be_bytes().to_vec();
        parameters.push(libc::NFQNL_COPY_PACKET as u8);
        self.configure(|message| {
            message
                .attribute(libc::NFQA_CFG_PARAMS, &parameters)
                .attribute(libc::NFQA_CFG_QUEUE_MAXLEN, &QUEUE_PACKETS.to_be_bytes());
        })
    }

    fn configure(&self, fill: impl FnOnce(&mut Messages)) -> Result<()> {
        let mut message = Messages::default();
        fill(message.begin(kind(libc::NFQNL_MSG_CONFIG), libc::NLM_F_ACK, &general(self.number)));
        netlink::ask(&self.socket, &mut message)?;
        Ok(())
    }

    fn verdict(&mut self, id: u32, verdict: i32) {
        let value = [(verdict as u32).to_be_bytes(), id.to_be_bytes()].concat();
        self.verdicts
            .begin(kind(libc::NFQNL_MSG_VERDICT), 0, &general(self.number))
            .attribute(libc::NFQA_VERDICT_HDR, &value);
        if self.verdicts.len() >= VERDICT_BYTES && self.flush().is_err() {
            self.mishaps += 1;
        }
    }
}

impl Wire for Queue {
    /// The kernel's number of the packet.
    type Frame = u32;

    fn readable(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&mut self, arrivals: &mut Vec<Arrival<u32>>) -> Result<()> {
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
                    arrivals.push(Arrival {
                        frame: packet.id,
                        wire_bytes: packet.wire_bytes(self.mtu),
                        age_ns: packet.age_ns(&clock),
                    });
                }
            }
        }
        Ok(())
    }

    fn deliver(&mut self, id: u32) {
        self.verdict(id, libc::NF_ACCEPT);
    }

    fn discard(&mut self, id: u32) {
        self.verdict(id, libc::NF_DROP);
    }

    fn flush(&mut self) -> Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        self.verdicts.send(&self.socket).context("cannot answer a packet queue")
    }

    fn take_whole(&mut self, whole: bool) -> Result<()> {
        let flags = if whole { libc::NFQA_CFG_F_GSO } else { 0 } as u32;
        let mut message = Messages::default();
        message
            .begin(kind(libc::NFQNL_MSG_CONFIG), 0, &general(self.number))
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

/// `struct nfgenmsg`.
fn general(queue: u16) -> [u8; 4] {
    let [high, low] = queue.to_be_bytes();
    [libc::AF_UNSPEC as u8, 0, high, low]
}
