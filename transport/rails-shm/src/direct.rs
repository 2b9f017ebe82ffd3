//! The initiator's side of one-sided operations directly in the peer's memory, according to the peer's table. Whatever the table
//! says, only memory of the peer's process is accessed.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use fishplate_engine::{Payload, Remote};
use fishplate_link_core::UserMemory;

use crate::exposure::{Exposure, READ, WRITE};
use crate::layout::{EXPOSED, Side, Word};
use crate::sys::process_memory::{Gathered, Known, Piece, Process};
use crate::sys::shared_memory::SharedMemory;

/// Bytes of one writing call, at most: some fifty microseconds, for which the peer may have to wait. The call itself takes half a
/// microsecond.
const PIECE: u64 = 512 << 10;
/// For this time a process id is assumed to be still that of the peer: shorter than the reuse of a process id takes.
const MAX_IDENTITY_AGE: Duration = Duration::from_millis(1);

/// Direct access to one peer's memory.
pub struct Direct {
    memory: Arc<SharedMemory>,
    side: Side,
    /// The peer's process, if its memory can be read and written.
    process: Option<Process>,
    /// When it was last seen alive.
    seen: Option<Instant>,
    /// Place in its table of the last access.
    last: usize,
    /// The last value of [`Word::Piece`].
    pieces: u32,
}

/// A place in the peer's memory. It may be accessed while its entry in the table has this number.
#[derive(Clone, Copy)]
struct Found {
    at: usize,
    number: u32,
    address: u64,
}

impl Direct {
    /// Without any accesses yet. `side`: this side of the link.
    pub(crate) fn new(memory: Arc<SharedMemory>, side: Side, process: Option<Process>) -> Direct {
        Direct { memory, side, process, seen: None, last: 0, pieces: 0 }
    }

    /// Writes `payload` into the peer's memory. False: not, or not all of it, so that it has to go in frames.
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

    /// Reads the peer's memory into `buffer`. False: not, and the content of `buffer` means nothing.
    pub fn read(&mut self, from: Remote, buffer: &Payload, memory: &UserMemory) -> bool {
        let len = buffer.len();
        let Some(found) = self.find(from, len, READ) else { return false };
        let Some(process) = self.process_there() else { return false };
        let is_whole = process.read(&[Piece { address: found.address, len }], memory, buffer, Known::Running);
        if let Err(error) = &is_whole {
            self.note(error);
        }
        // If the registration has ended meanwhile, the memory may have changed.
        fence(Ordering::SeqCst);
        matches!(is_whole, Ok(true)) && self.is_valid(found)
    }

    /// The place of `len` bytes from `place` on, if the table allows this access.
    fn find(&mut self, place: Remote, len: u64, rights: u32) -> Option<Found> {
        if len == 0 || self.process.is_none() {
            return None;
        }
        for number in [self.last].into_iter().chain(0..EXPOSED) {
            let at = self.side.peer().exposure(number);
            // Copied before it is checked; consistent if its number is equal before and after.
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

    /// The peer's process, unless another process has its id now.
    fn process_there(&mut self) -> Option<Process> {
        let process = self.process?;
        let now = Instant::now();
        if self.seen.is_none_or(|seen| now - seen > MAX_IDENTITY_AGE) {
            self.seen = process.is_there().then_some(now);
        }
        self.seen.map(|_| process)
    }

    /// After an error, makes no further direct accesses.
    fn note(&mut self, error: &std::io::Error) {
        use rustix::io::Errno;
        let forbidden = [Errno::PERM, Errno::NOSYS].map(|errno| Some(errno.raw_os_error()));
        if forbidden.contains(&error.raw_os_error()) {
            log::info!("one-sided operations wait for their targets: the system forbids to access them ({error})");
            self.process = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::Extent;
    use fishplate_link_core::payload_of;
    use proptest::prelude::*;

    use super::*;
    use crate::layout::{LEN, NONCE_AT, NONCE_LEN};

    /// This process is its own peer.
    fn direct() -> (Direct, Arc<SharedMemory>) {
        let memory = Arc::new(SharedMemory::create(LEN).unwrap().0);
        let process =
            Process::find(std::process::id() as i32, memory.address() + NONCE_AT as u64, [0; NONCE_LEN]).unwrap();
        (Direct::new(memory.clone(), Side::Creator, Some(process)), memory)
    }

    fn put_entry(memory: &SharedMemory, number: usize, words: [u32; 2], longs: [u64; 4]) {
        let at = Side::Opener.exposure(number);
        words.iter().zip([0, 4]).for_each(|(word, offset)| memory.write(at + offset, &word.to_le_bytes()));
        longs.iter().zip([8, 16, 24, 32]).for_each(|(long, offset)| memory.write(at + offset, &long.to_le_bytes()));
    }

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..4, any::<u64>(), Just(u64::MAX), Just(4096)]
    }

    proptest! {
        /// Whatever the peer has in its table, nothing is touched here but the buffer of the read.
        #[test]
        fn a_table_may_say_anything(
            entries in prop::collection::vec((0..EXPOSED, [0u32..3, 0u32..5], [number(), number(), number(), number()]), 1..8),
            reads in prop::collection::vec((number(), number(), 1usize..100), 1..8),
        ) {
            let (mut direct, memory) = direct();
            let own = UserMemory::of_test();
            for (number, words, longs) in entries {
                put_entry(&memory, number, words, longs);
            }
            for (key, address, len) in reads {
                let mut buffer = std::hint::black_box([7u8; 102]);
                direct.read(Remote { key, address }, &payload_of(&buffer[1..=len]), &own);
                let after = std::hint::black_box(&mut buffer);
                prop_assert!(after[0] == 7 && after[len + 1..].iter().all(|byte| *byte == 7));
            }
        }
    }

    #[test]
    fn a_write_says_where_it_goes_and_that_it_has_ended_and_stops_where_the_entry_does() {
        let (mut direct, memory) = direct();
        let (own, target, sent) = (UserMemory::of_test(), vec![0u8; 1_200_000], vec![5u8; 1_200_000]);
        let Payload::One(Extent { region, .. }) = payload_of(&target) else { unreachable!() };
        put_entry(&memory, 63, [4, WRITE], [9, 1000, region.0, 1_200_000]);
        assert!(direct.write(Remote { key: 9, address: 1000 }, &payload_of(&sent), &own));
        assert!(std::hint::black_box(&target) == &sent);
        // Three pieces.
        assert_eq!(memory.load(Side::Creator.word(Word::Piece), Ordering::Relaxed), 6);
        assert!(!direct.write(Remote { key: 9, address: 1001 }, &payload_of(&sent), &own), "it is longer");
        assert!(!direct.read(Remote { key: 9, address: 1000 }, &payload_of(&sent), &own), "it may only be written");
        // The memory does not exist: the access by messages will report the error.
        put_entry(&memory, 63, [5, WRITE], [9, 1000, 16, 1_200_000]);
        assert!(!direct.write(Remote { key: 9, address: 1000 }, &payload_of(&sent), &own));
        assert_eq!(memory.load(Side::Creator.word(Word::Piece), Ordering::Relaxed), 8);
    }
}
