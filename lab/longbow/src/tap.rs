//! The TAP backend: frames pass through this process's memory.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::flip::flip;
use crate::frame::{self, ETHERNET_HEADER, Segments};
use crate::sys;
use crate::wire::{Arrival, BATCH, Wire};

const CLONE_DEVICE: &str = "/dev/net/tun";
/// Bytes of `struct virtio_net_hdr`, which precedes each frame.
const VIRTIO_HEADER: usize = 10;
/// Flag in the virtio header: the checksum is left to the adapter.
const NEEDS_CHECKSUM: u8 = 1;
/// Maximum length: virtio and Ethernet headers, a VLAN tag, and an IP packet of maximum length.
const MAX_FRAME: usize = VIRTIO_HEADER + ETHERNET_HEADER + 4 + 65_536;

/// Creates a TAP device in this thread's namespace, down and without an address. The device is removed when the last
/// descriptor is closed.
pub fn make(name: &str) -> Result<Arc<File>> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(CLONE_DEVICE)
        .with_context(|| format!("cannot open {CLONE_DEVICE} (the kernel's module tun)"))?;
    sys::attach_tap(&device, name).with_context(|| format!("cannot make a TAP device {name}"))?;
    Ok(Arc::new(device))
}

/// The direction from one TAP device to another.
pub struct Taps {
    from: Arc<File>,
    to: Arc<File>,
    buffer: Vec<u8>,
    mishaps: u64,
}

impl Taps {
    pub fn new(from: &Arc<File>, to: &Arc<File>) -> Taps {
        Taps { from: from.clone(), to: to.clone(), buffer: vec![0; MAX_FRAME], mishaps: 0 }
    }
}

impl Wire for Taps {
    /// A virtio header and a frame.
    type Frame = Box<[u8]>;

    fn readable(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    fn receive(&mut self, arrivals: &mut Vec<Arrival<Box<[u8]>>>) -> Result<()> {
        for _ in 0..BATCH {
            let length = match self.from.as_ref().read(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error).context("cannot read a TAP device"),
            };
            let frame = &self.buffer[..length];
            if let Some(wire_bytes) = wire_bytes(frame) {
                arrivals.push(Arrival { frame: frame.into(), wire_bytes, age_ns: 0 });
            }
        }
        Ok(())
    }

    fn deliver(&mut self, mut frame: Box<[u8]>, flip: Option<u64>) -> bool {
        let is_flipped = flip.is_some_and(|random| flip_frame(&mut frame, random));
        // Fails while the device is down, as with an unplugged adapter.
        if self.to.as_ref().write(&frame).is_err() {
            self.mishaps += 1;
        }
        is_flipped
    }

    fn discard(&mut self, _: Box<[u8]>) {}

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn take_whole(&mut self, whole: bool, _: bool) -> Result<()> {
        let segmentation = libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let offload = libc::TUN_F_CSUM | if whole { segmentation } else { 0 };
        sys::set_offload(&self.from, offload).context("cannot configure a TAP device")
    }

    fn mishaps(&self) -> u64 {
        self.mishaps
    }
}

/// Flips a bit of the payload of a frame with a virtio header; false if it has no payload.
fn flip_frame(frame: &mut [u8], random: u64) -> bool {
    // The receiver does not verify a checksum that was left to the adapter.
    let has_checksum = frame.first().is_some_and(|flags| flags & NEEDS_CHECKSUM == 0);
    let Some((head, packet)) = frame.split_at_mut_checked(VIRTIO_HEADER + ETHERNET_HEADER) else { return false };
    let ethertype = u16::from_be_bytes([head[VIRTIO_HEADER + 12], head[VIRTIO_HEADER + 13]]);
    flip(ethertype, packet, random, has_checksum)
}

/// Bytes on the wire of a frame with a virtio header, or of its packets; `None` if it is too short for a frame.
fn wire_bytes(frame: &[u8]) -> Option<u32> {
    let packet = frame.get(VIRTIO_HEADER + ETHERNET_HEADER..)?;
    let ethertype = u16::from_be_bytes([frame[VIRTIO_HEADER + 12], frame[VIRTIO_HEADER + 13]]);
    let (offload_kind, segment_bytes) = (frame[1], u16::from_ne_bytes([frame[4], frame[5]]));
    let segments = if offload_kind == 0 { Segments::None } else { Segments::Payload(segment_bytes.into()) };
    Some(frame::wire_bytes(ethertype, packet, packet.len() as u32, segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offload_frames_count_as_the_header_says() {
        let mut frame = vec![0; VIRTIO_HEADER + ETHERNET_HEADER + 52 + 2 * 1448];
        frame[VIRTIO_HEADER + 12] = 0x08;
        let packet = VIRTIO_HEADER + ETHERNET_HEADER;
        (frame[packet], frame[packet + 9], frame[packet + 32]) = (0x45, 6, 0x80);
        assert_eq!(wire_bytes(&frame), Some(52 + 2 * 1448 + 38));
        frame[1] = 1;
        frame[4..6].copy_from_slice(&1448u16.to_ne_bytes());
        assert_eq!(wire_bytes(&frame), Some(2 * 1538));
        assert_eq!(wire_bytes(&frame[..20]), None);
    }
}
