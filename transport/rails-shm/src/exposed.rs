//! The owner's side of registered memory that the peer accesses directly: the table, and the end of its entries.
//!
//! The end of a registration need not wait for reads: the peer checks after each that the memory was still registered. A write must
//! not come later, so that the end waits for the piece that the peer is just writing, if any: one system call. It does not wait
//! for a peer that is stopped before or after that call: the call takes its destination from the shared memory, and finds none
//! there once the registration has ended.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use fishplate_engine::Registration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exposure::Exposure;
use crate::layout::{EXPOSED, Side, Word};
use crate::sys::process_memory::Process;
use crate::sys::shared_memory::SharedMemory;
use crate::threads::{Threads, threads_of};

/// How long to wait for a peer that is marked as writing: a piece takes some fifty microseconds of a processor, which other
/// processes may occupy.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Polls before the processor is yielded, in case the peer waits for it.
const SPINS: u32 = 200;
/// Pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// The peer is marked as writing, and does not finish.
#[derive(Debug, thiserror::Error)]
#[error("the peer has been writing one piece into registered memory for {} s, and is not stopped", MAX_WAIT.as_secs())]
pub struct Stuck;

/// Registered memory that the peer may access directly.
pub struct Exposed {
    memory: Arc<SharedMemory>,
    side: Side,
    /// The peer's process. Without one, the table stays empty, as the state of a writer could not be checked.
    process: Option<Process>,
    /// Keys by place in the table.
    keys: [Option<u64>; EXPOSED],
    /// Number of the last entry.
    last: u32,
    max_wait: Duration,
}

impl Exposed {
    pub(crate) fn new(memory: Arc<SharedMemory>, side: Side, process: Option<Process>) -> Exposed {
        Exposed { memory, side, process, keys: [None; EXPOSED], last: 0, max_wait: MAX_WAIT }
    }

    /// Lets the peer access this memory, if there is room in the table.
    pub fn add(&mut self, registration: &Registration) {
        let free = self.keys.iter().position(Option::is_none).filter(|_| self.process.is_some());
        let (Some(number), Some(exposure)) = (free, Exposure::of(registration)) else { return };
        let at = self.side.exposure(number);
        self.last = self.last.wrapping_add(1).max(1);
        self.keys[number] = Some(exposure.key);
        self.memory.write(at + 4, &exposure.encode());
        self.memory.store(at, self.last, Ordering::Release);
    }

    /// Ends an entry: no further access to memory under `key` begins. False if it is not in the table. `await_writer` has to
    /// follow.
    pub fn end(&mut self, key: u64) -> bool {
        let found = self.keys.iter().position(|known| *known == Some(key));
        found.into_iter().for_each(|number| self.remove(number));
        found.is_some()
    }

    /// Ends all entries.
    pub(crate) fn end_all(&mut self) -> bool {
        let keys: Vec<u64> = self.keys.iter().flatten().copied().collect();
        keys.iter().for_each(|key| {
            self.end(*key);
        });
        !keys.is_empty()
    }

    /// Clears an entry. The peer sets its destination, and then checks the entry; here the entry is cleared first, and then the
    /// destination: so either the peer or the kernel sees that the entry has ended.
    fn remove(&mut self, number: usize) {
        self.keys[number] = None;
        self.memory.store(self.side.exposure(number), 0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.memory.store_long(self.side.peer().target() + 8, 0, Ordering::SeqCst);
    }

    /// Waits until the peer writes to no ended entry any more. `socket`: to the peer.
    pub(crate) fn await_writer(&mut self, socket: BorrowedFd<'_>) -> Result<(), Stuck> {
        let Some(process) = self.process else { return Ok(()) };
        fence(Ordering::SeqCst);
        let at = self.side.peer().word(Word::Piece);
        let seen = self.memory.load(at, Ordering::SeqCst);
        let memory = &self.memory;
        let is_over = || seen.is_multiple_of(2) || memory.load(at, Ordering::Acquire) != seen;
        if (0..SPINS).any(|_| is_over()) {
            return Ok(());
        }
        let start = Instant::now();
        loop {
            std::thread::sleep(PAUSE);
            if is_over() || is_shut(socket) {
                return Ok(());
            }
            match threads_of(process.pid()) {
                // A stopped peer that goes on finds no destination.
                Threads::Stopped => return Ok(()),
                // It may be in the middle of the call.
                Threads::Blocked => {}
                Threads::Other if start.elapsed() < self.max_wait => {}
                Threads::Other => {
                    // Reported once; the peer is not waited for again.
                    self.process = None;
                    return Err(Stuck);
                }
            }
        }
    }
}

/// Whether the peer has closed its end: it does not write, or has ended.
fn is_shut(socket: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::new(&socket, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};

    use fishplate_engine::{Payload, Region};
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::layout::{LEN, NONCE_AT, NONCE_LEN};

    /// A peer that has begun to write, and its end of the socket.
    struct Writing {
        child: Child,
        exposed: Exposed,
        sockets: [UnixStream; 2],
    }

    impl Writing {
        fn begin() -> Writing {
            let child = Command::new("sleep").arg("1000").spawn().unwrap();
            let memory = Arc::new(SharedMemory::create(LEN).unwrap().0);
            let mark_at = memory.address() + NONCE_AT as u64;
            // This process has the mark, the other one the number.
            let itself = Process::find(std::process::id() as i32, mark_at, [0; NONCE_LEN]);
            let process = itself.map(|process| process.with_pid(child.id() as i32));
            assert!(process.is_some());
            let mut exposed = Exposed::new(memory, Side::Creator, process);
            exposed.max_wait = Duration::from_millis(1);
            exposed.memory.store(Side::Opener.word(Word::Piece), 7, Ordering::Relaxed);
            exposed.memory.store_long(Side::Opener.target() + 8, 100, Ordering::Relaxed);
            let sockets = UnixStream::pair().unwrap().into();
            Writing { child, exposed, sockets }
        }

        fn wait(&mut self) -> bool {
            self.exposed.await_writer(self.sockets[0].as_fd()).is_ok()
        }

        fn signal(&self, signal: Signal) {
            kill_process(Pid::from_child(&self.child), signal).unwrap();
        }
    }

    impl Drop for Writing {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn registration(key: u64) -> Registration {
        let memory = Payload::whole(Region(7), 100);
        Registration { key, memory, base: 0, readable: true, writable: true }
    }

    #[test]
    fn a_full_table_takes_nothing_until_something_ends() {
        let mut writing = Writing::begin();
        let exposed = &mut writing.exposed;
        (0..EXPOSED as u64 + 1).for_each(|key| exposed.add(&registration(key)));
        assert!(!exposed.end(EXPOSED as u64));
        assert!(exposed.end(3) && !exposed.end(3));
        exposed.add(&registration(1000));
        let entry = exposed.memory.bytes(Side::Creator.exposure(3));
        assert_eq!(Exposure::decode(&entry), (EXPOSED as u32 + 1, Exposure::of(&registration(1000)).unwrap()));
        assert!(exposed.end_all() && !exposed.end_all());
        assert!((0..EXPOSED).all(|number| exposed.memory.load(Side::Creator.exposure(number), Ordering::Relaxed) == 0));
    }

    #[test]
    fn the_end_takes_the_place_back_and_waits_for_the_piece() {
        let mut writing = Writing::begin();
        let memory = writing.exposed.memory.clone();
        writing.exposed.add(&registration(1));
        assert!(writing.exposed.end(1));
        assert_eq!(memory.bytes::<8>(Side::Opener.target() + 8), [0; 8]);
        let piece = Side::Opener.word(Word::Piece);
        std::thread::scope(|scope| {
            writing.exposed.max_wait = Duration::from_secs(1000);
            let waits = scope.spawn(|| writing.wait());
            // Each that begins meanwhile is another piece.
            for count in (9..).step_by(2) {
                memory.store(piece, count, Ordering::Relaxed);
                if waits.is_finished() {
                    break;
                }
                std::thread::yield_now();
            }
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn a_writer_that_does_not_come_to_an_end_is_given_up_once() {
        let mut writing = Writing::begin();
        assert!(!writing.wait());
        assert!(writing.wait());
        writing.exposed.add(&registration(1));
        assert!(!writing.exposed.end(1), "it may access more memory");
    }

    #[test]
    fn nobody_waits_for_a_writer_that_is_stopped_or_has_ended() {
        let mut writing = Writing::begin();
        writing.exposed.max_wait = Duration::from_secs(1000);
        writing.signal(Signal::STOP);
        assert!(writing.wait());
        writing.signal(Signal::KILL);
        assert!(writing.wait());
        writing.child.wait().unwrap();
        assert!(writing.wait());
    }

    #[test]
    fn nobody_waits_for_one_that_has_closed_its_end() {
        let mut writing = Writing::begin();
        writing.exposed.max_wait = Duration::from_secs(1000);
        writing.sockets[1] = UnixStream::pair().unwrap().0;
        assert!(writing.wait());
    }
}
