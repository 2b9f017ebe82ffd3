//! A stream of frames with checksums in which bits are changed, for tests and for hostile input (`fuzz/`).

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use fishplate_engine::wire::{Body, Header, ReceiveRef, SendRef};
use fishplate_engine::{BounceId, Envelope, MessageSeq, Placement, Source};
use fishplate_link_core::{BounceBuffers, UserMemory, payload_of};

use super::{Arrived, Filled, ReceiveState, TransmitQueue, Unreadable};

/// Frames of one stream, at most.
const MAX_FRAMES: u64 = 4;
/// Lengths of payloads at the limits between different ways of sending and reading them.
const LENS: [u32; 8] = [0, 1, 8, 2048, 2049, 4095, 4097, 20_000];
const BOUNCE: BounceId = BounceId(0);

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was changed, and all frames have come.
    Unchanged,
    /// The changed header was refused.
    FoundInHeader,
    /// The changed payload was refused.
    FoundInPayload,
}

/// A frame, and the bytes behind its header.
struct Sent {
    header: Header,
    payload: Vec<u8>,
    /// Where its header and its payload begin among all bytes, and where it ends, checksums included.
    at: [usize; 3],
}

/// Sends frames, changes up to three bits that are near each other, and receives. `below(n)` chooses a number below n.
///
/// # Panics
/// If a changed frame is taken, or an unchanged one before it is not.
pub fn run(below: &mut impl FnMut(u64) -> u64) -> Outcome {
    let (memory, mut bounces) = (UserMemory::of_test(), BounceBuffers::default());
    let (frames, mut bytes) = send(below, &memory, &mut bounces);
    let changed = (below(16) > 0).then(|| change(below, &mut bytes));
    // Bytes behind the frame expose a change that makes a header seem longer.
    let sound = frames.iter().take_while(|frame| changed.is_none_or(|at| frame.at[2] <= at)).count();
    let mut receiver = Receiver::new(memory, bounces);
    let taken = receiver.receive(below, &bytes);
    assert!(taken.payloads == sound || taken.payloads == sound + 1, "{} of {sound} sound frames", taken.payloads);
    for (frame, (header, payload)) in frames.iter().zip(&receiver.frames).take(sound) {
        assert!(frame.header == *header && frame.payload == *payload, "a frame has come changed: {header:?}");
    }
    let Some(at) = changed else {
        assert!(taken.error.is_none() && taken.headers == frames.len(), "{taken:?}");
        return Outcome::Unchanged;
    };
    assert_eq!((taken.error, taken.payloads), (Some(Unreadable::Changed), sound), "a change at {at} was not found");
    if at < frames[sound].at[1] {
        assert_eq!(taken.headers, sound, "a changed header was taken");
        return Outcome::FoundInHeader;
    }
    Outcome::FoundInPayload
}

/// Frames, and all that is sent for them, with enough behind them to show an error in the last.
fn send(below: &mut impl FnMut(u64) -> u64, memory: &UserMemory, bounces: &mut BounceBuffers) -> (Vec<Sent>, Vec<u8>) {
    let mut queue = TransmitQueue::new(None, true);
    let (here, mut there) = pair();
    let mut bytes = Vec::new();
    let mut frames = Vec::new();
    for number in 0..=below(MAX_FRAMES) {
        let frame = frame(below, number as u32);
        let (source, copy) = match below(3) {
            0 => (Source::User(payload_of(&frame.payload)), false),
            1 => (Source::User(payload_of(&frame.payload)), true),
            _ => {
                *bounces.open(BOUNCE) = frame.payload.clone();
                (Source::Bounce { id: BOUNCE, offset: 0, len: frame.payload.len() as u64 }, false)
            }
        };
        let begin = bytes.len();
        queue.push(&frame.header, &source, copy, memory, bounces);
        drain(&mut queue, (&here, &mut there), memory, &mut bytes);
        let behind = if frame.payload.is_empty() { 0 } else { frame.payload.len() + 4 };
        frames.push(Sent { at: [begin, bytes.len() - behind, bytes.len()], ..frame });
    }
    let filler = Header::without_acknowledgement(Body::Bye);
    (0..4).for_each(|_| queue.push_header(&filler));
    drain(&mut queue, (&here, &mut there), memory, &mut bytes);
    (frames, bytes)
}

fn frame(below: &mut impl FnMut(u64) -> u64, number: u32) -> Sent {
    let len = LENS[below(LENS.len() as u64) as usize];
    let envelope = Envelope::Tagged(below(1000));
    let body = match below(5) {
        0 => Body::Eager { seq: MessageSeq(number), envelope, data: None, len, prompt: false },
        1 => Body::Stripe { receive: ReceiveRef(1), offset: 0, len },
        2 => Body::Write { write: SendRef(1), key: 2, address: 3, data: None, number: 4, len },
        3 => Body::Padding { len },
        _ => Body::Ping,
    };
    let payload = (0..body.payload_len()).map(|at| (at as u8).wrapping_mul(31) ^ number as u8).collect();
    Sent { header: Header::without_acknowledgement(body), payload, at: [0; 3] }
}

fn drain(
    queue: &mut TransmitQueue,
    (here, there): (&UnixStream, &mut UnixStream),
    memory: &UserMemory,
    bytes: &mut Vec<u8>,
) {
    let mut chunk = [0; 32 << 10];
    while !queue.flush(here.as_fd(), memory).expect("a socket") || !queue.is_empty() {
        take(there, &mut chunk, bytes);
    }
    while take(there, &mut chunk, bytes) {}
}

fn take(from: &mut UnixStream, chunk: &mut [u8], to: &mut Vec<u8>) -> bool {
    match from.read(chunk) {
        Ok(got) => {
            to.extend_from_slice(&chunk[..got]);
            got > 0
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

/// Changes a bit, and perhaps two more within 31 bits: all of these CRC32C finds. The first byte that has changed.
fn change(below: &mut impl FnMut(u64) -> u64, bytes: &mut [u8]) -> usize {
    // Not the bytes behind the frames.
    let bits = (bytes.len() as u64 - 4 * 24) * 8;
    let first = below(bits);
    let mut at: Vec<u64> = (0..below(3)).map(|_| first + 1 + below(30)).filter(|bit| *bit < bits).collect();
    at.sort_unstable();
    at.dedup();
    at.push(first);
    at.iter().for_each(|bit| bytes[(bit / 8) as usize] ^= 1 << (bit % 8));
    (first / 8) as usize
}

/// The receiving side.
struct Receiver {
    state: ReceiveState,
    memory: UserMemory,
    bounces: BounceBuffers,
    /// Headers that were taken, with payloads where these are whole.
    frames: Vec<(Header, Vec<u8>)>,
    /// The present payload goes to a buffer.
    bounced: bool,
}

#[derive(Debug)]
struct Taken {
    headers: usize,
    payloads: usize,
    error: Option<Unreadable>,
}

impl Receiver {
    fn new(memory: UserMemory, bounces: BounceBuffers) -> Receiver {
        Receiver { state: ReceiveState::new(None, true), memory, bounces, frames: Vec::new(), bounced: false }
    }

    /// Receives `bytes`, which come in pieces, until they end or cannot be read.
    fn receive(&mut self, below: &mut impl FnMut(u64) -> u64, bytes: &[u8]) -> Taken {
        let (here, mut there) = pair();
        let mut rest = bytes;
        let mut taken = Taken { headers: 0, payloads: 0, error: None };
        let mut place = vec![0; LENS[LENS.len() - 1] as usize];
        while !rest.is_empty() && taken.error.is_none() {
            let piece = (1 + below(30_000) as usize).min(rest.len());
            there.write_all(&rest[..piece]).expect("room for a piece");
            rest = &rest[piece..];
            loop {
                match self.state.fill(here.as_fd(), &self.memory, &mut self.bounces) {
                    Ok(Filled::More | Filled::Drained) => {}
                    Ok(Filled::End) => panic!("nobody shuts it"),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
                if let Err(unreadable) = self.take(below, &mut place, &mut taken) {
                    taken.error = Some(unreadable);
                    let again = self.state.next(&self.memory, &mut self.bounces);
                    assert!(matches!(again, Err(Unreadable::Changed)), "something is taken behind a change");
                    break;
                }
            }
        }
        taken
    }

    fn take(
        &mut self,
        below: &mut impl FnMut(u64) -> u64,
        place: &mut [u8],
        taken: &mut Taken,
    ) -> Result<(), Unreadable> {
        while let Some(arrived) = self.state.next(&self.memory, &mut self.bounces)? {
            match arrived {
                Arrived::Header(header) if header.body == Body::Bye => {}
                Arrived::Header(header) => {
                    taken.headers += 1;
                    self.begin(below, header, place, taken);
                }
                Arrived::Payload(len) => {
                    taken.payloads += 1;
                    let Some((_, payload)) = self.frames.last_mut() else { continue };
                    let came =
                        if self.bounced { self.bounces.get(BOUNCE) } else { &*std::hint::black_box(&mut *place) };
                    payload.extend_from_slice(&came[..len as usize]);
                }
            }
        }
        Ok(())
    }

    /// Says where a payload goes, or takes it if it is there.
    fn begin(&mut self, below: &mut impl FnMut(u64) -> u64, header: Header, place: &mut [u8], taken: &mut Taken) {
        let len = u64::from(header.body.payload_len());
        self.frames.push((header, Vec::new()));
        if below(2) == 0
            && let Some(payload) = self.state.whole_payload(len)
            && let Some((_, to)) = self.frames.last_mut()
        {
            to.extend_from_slice(payload);
            self.state.skip_payload(len);
            taken.payloads += 1;
        } else if len == 0 {
            taken.payloads += 1;
        } else {
            self.bounced = below(2) == 0;
            let user = Placement::User(payload_of(&place[..len as usize]));
            let placement = if self.bounced { Placement::Bounce(BOUNCE) } else { user };
            self.state.expect_payload(placement, len, &mut self.bounces);
        }
    }
}

fn pair() -> (UnixStream, UnixStream) {
    let (here, there) = UnixStream::pair().expect("two sockets");
    [&here, &there].iter().for_each(|socket| socket.set_nonblocking(true).expect("a socket"));
    (here, there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_found_and_nothing_else_is_taken_for_one() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            let outcome = run(&mut |end| random.u64(..end.max(1)));
            seen[outcome as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }
}
