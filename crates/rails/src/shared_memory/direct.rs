//! The origin's side of one-sided operations that go straight to the peer's memory, by what its table says. Whatever that
//! says, only the peer's own memory is accessed.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use fishplate_engine::{Payload, Remote};

use super::exposure::{Exposure, READ, WRITE};
use super::layout::{EXPOSED, Side, Word};
use crate::sys::memory::UserMemory;
use crate::sys::process_memory::{Gathered, Known, Process};
use crate::sys::shared_memory::SharedMemory;

/// Most bytes of one call that writes, for which the peer may have to wait: some ten microseconds.
const PIECE: u64 = 128 << 10;
/// For so long a process is taken to be the one that it was: less than it takes to have another one in its place.
const MOST_RUNNING: Duration = Duration::from_millis(1);

/// What this side accesses.
pub struct Direct {
    memory: Arc<SharedMemory>,
    side: Side,
    /// The peer's process, if its memory can be read and written.
    process: Option<Process>,
    /// When it was seen to be there.
    seen: Option<Instant>,
    /// Where in its table the last access was.
    last: usize,
    /// What the peer was told of pieces.
    pieces: u32,
}

/// A place in the peer's memory that may be accessed as long as its entry has that number.
#[derive(Clone, Copy)]
struct Found {
    at: usize,
    number: u32,
    address: u64,
}

impl Direct {
    /// Nothing was accessed yet. `side` is this one's.
    pub fn new(memory: Arc<SharedMemory>, side: Side, process: Option<Process>) -> Direct {
        Direct { memory, side, process, seen: None, last: 0, pieces: 0 }
    }

    /// Writes `payload` into the peer's memory. False: it could not, or not all of it, and has to go the usual way.
    pub fn write(&mut self, to: Remote, payload: &Payload, memory: &UserMemory) -> bool {
        let len = payload.len();
        let Some(found) = self.find(to, len, WRITE) else { return false };
        let mut done = 0;
        while done < len {
            let Some(process) = self.process_there() else { return false };
            let piece = Gathered::of(memory, payload, done, PIECE);
            let place = Found { address: found.address.wrapping_add(done), ..found };
            if !self.write_piece(&process, &piece, place) {
                return false;
            }
            done += piece.len;
        }
        true
    }

    fn write_piece(&mut self, process: &Process, piece: &Gathered, to: Found) -> bool {
        let (word, target) = (self.side.word(Word::Piece), self.side.target());
        self.memory.store(word, self.pieces.wrapping_add(1), Ordering::Relaxed);
        self.memory.store_long(target, to.address, Ordering::Relaxed);
        self.memory.store_long(target + 8, piece.len, Ordering::Relaxed);
        // See `Exposed::remove`.
        fence(Ordering::SeqCst);
        let written = if self.is_valid(to) { process.write(piece, &self.memory, target) } else { Ok(0) };
        self.pieces = self.pieces.wrapping_add(2);
        self.memory.store(word, self.pieces, Ordering::Release);
        if let Err(error) = &written {
            self.note(error);
        }
        written.is_ok_and(|written| written == piece.len)
    }

    /// Reads the peer's memory into `buffer`. False: it could not, and what is in `buffer` means nothing.
    pub fn read(&mut self, from: Remote, buffer: &Payload, memory: &UserMemory) -> bool {
        let len = buffer.len();
        let Some(found) = self.find(from, len, READ) else { return false };
        let Some(process) = self.process_there() else { return false };
        let is_whole = process.read(&[(found.address, len)], (memory, buffer), Known::Running);
        if let Err(error) = &is_whole {
            self.note(error);
        }
        // What is not registered any more may have changed meanwhile.
        fence(Ordering::SeqCst);
        matches!(is_whole, Ok(true)) && self.is_valid(found)
    }

    /// The place of `len` bytes from `place` on, if there is one that may be accessed so.
    fn find(&mut self, place: Remote, len: u64, rights: u32) -> Option<Found> {
        if len == 0 || self.process.is_none() {
            return None;
        }
        for number in [self.last].into_iter().chain(0..EXPOSED) {
            let at = self.side.peer().exposure(number);
            // Copied out before anything is believed of it; whole, if it has the same number before and after.
            let before = self.memory.load(at, Ordering::Acquire);
            if before == 0 {
                continue;
            }
            let (_, exposure) = Exposure::decode(&self.memory.bytes(at));
            fence(Ordering::Acquire);
            let found = exposure.address_of(place, len, rights).map(|address| Found { at, number: before, address });
            if let Some(found) = found
                && self.is_valid(found)
            {
                self.last = number;
                return Some(found);
            }
        }
        None
    }

    fn is_valid(&self, found: Found) -> bool {
        self.memory.load(found.at, Ordering::SeqCst) == found.number
    }

    /// The peer's process, unless another one has got its number.
    fn process_there(&mut self) -> Option<Process> {
        let process = self.process?;
        let now = Instant::now();
        if self.seen.is_none_or(|seen| now - seen > MOST_RUNNING) {
            self.seen = process.is_there().then_some(now);
        }
        self.seen.map(|_| process)
    }

    /// Where the system forbids such calls, there are no more of them.
    fn note(&mut self, error: &std::io::Error) {
        use rustix::io::Errno;
        let forbidden = [Errno::PERM, Errno::NOSYS].map(|errno| Some(errno.raw_os_error()));
        if forbidden.contains(&error.raw_os_error()) {
            log::info!("one-sided operations wait for their targets: the system forbids to access them ({error})");
            self.process = None;
        }
    }
}
