//! Reading and writing the memory of another process of the same user, where the system allows it.

use std::io;

use fishplate_engine::Payload;
use fishplate_link_core::UserMemory;

use super::shared_memory::SharedMemory;

/// Pieces on either side of one call, at most.
pub const MAX_PIECES: usize = 16;
/// Length of a mark.
pub const MARK_LEN: usize = 16;

const NO_PIECE: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// How to make sure that a process id is still that of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The peer was alive a moment ago.
    Running,
    /// By reading its mark, which takes 0.2 us.
    ByMark,
}

/// A process whose memory can be read. The kernel reuses the id of an ended process after a while: so a read can also fetch a mark,
/// random bytes that only this process has at that address.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pid: i32,
    mark_at: u64,
    mark: [u8; MARK_LEN],
}

/// A piece of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub address: u64,
    /// Its length, in bytes.
    pub len: u64,
}

/// User memory that one call writes.
pub struct Gathered {
    pieces: [libc::iovec; MAX_PIECES],
    count: usize,
    /// Number of bytes.
    pub len: u64,
}

impl Gathered {
    /// Up to `most` bytes of `payload` from offset `from` on; fewer if they have many pieces, none at its end.
    pub fn of(memory: &UserMemory, payload: &Payload, from: u64, most: u64) -> Gathered {
        let mut gathered = Gathered { pieces: [NO_PIECE; MAX_PIECES], count: 0, len: 0 };
        for (slot, part) in gathered.pieces.iter_mut().zip(memory.parts(payload, from, most)) {
            *slot = libc::iovec { iov_base: part.cast(), iov_len: part.len() };
            gathered.len += part.len() as u64;
            gathered.count += 1;
        }
        gathered
    }
}

impl Process {
    /// Process `pid`, if it has `mark` at the address `mark_at`. `None`: it has not, or its memory cannot be read.
    pub fn find(pid: i32, mark_at: u64, mark: [u8; MARK_LEN]) -> Option<Process> {
        let process = Process { pid, mark_at, mark };
        (pid > 0 && process.is_there()).then_some(process)
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// With another id, for tests.
    #[cfg(test)]
    pub fn with_pid(self, pid: i32) -> Process {
        Process { pid, ..self }
    }

    /// Whether it is still there, by its mark.
    pub fn is_there(&self) -> bool {
        matches!(self.read_own(&[], &mut Vec::new(), Known::ByMark), Ok(true))
    }

    /// Writes to the destination in its memory whose address and length are at offset `at` of memory that it shares. The kernel reads
    /// them when the call begins, so that the process can withdraw the destination until then, by a length of zero. Returns the number
    /// of bytes written.
    pub fn write(&self, from: &Gathered, shared: &SharedMemory, at: usize) -> io::Result<u64> {
        let (local, count) = (from.pieces.as_ptr(), from.count as libc::c_ulong);
        // SAFETY: the local pieces can be read, as the creator of the user memory guarantees; the kernel copies the remote one, and
        // what that says is for the other process to answer for: not more is read here than `from` has.
        let got = unsafe { libc::process_vm_writev(self.pid, local, count, shared.piece(at), 1, 0) };
        if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as u64) }
    }

    /// Reads the pieces `from` into user memory from byte 0 of `to` on, as much as fits.
    /// False if not all of that came, or the process is another one.
    pub fn read(&self, from: &[Piece], memory: &UserMemory, to: &Payload, known: Known) -> io::Result<bool> {
        let len = from.iter().map(|piece| piece.len).sum::<u64>().min(to.len());
        let mut local = [NO_PIECE; MAX_PIECES + 1];
        let mut done = 0;
        // Mostly once; more often where the user's memory has many pieces.
        while done < len {
            let (mut count, mut wanted) = (0, 0);
            for (slot, part) in local[..MAX_PIECES].iter_mut().zip(memory.parts(to, done, len - done)) {
                *slot = libc::iovec { iov_base: part.cast(), iov_len: part.len() };
                wanted += part.len() as u64;
                count += 1;
            }
            if self.read_pieces(from, done, &mut local[..=count], wanted, known)? < wanted {
                return Ok(false);
            }
            done += wanted;
        }
        Ok(true)
    }

    /// Reads to the end of a vector.
    pub fn read_own(&self, from: &[Piece], to: &mut Vec<u8>, known: Known) -> io::Result<bool> {
        let len = from.iter().map(|piece| piece.len).sum::<u64>() as usize;
        to.reserve(len);
        let end = to.len();
        let spare = to.spare_capacity_mut();
        let mut local = [libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: len }, NO_PIECE];
        let is_whole = self.read_pieces(from, 0, &mut local, len as u64, known)? == len as u64;
        if is_whole {
            // SAFETY: there is room for `len` bytes, and the kernel has written all of them.
            unsafe { to.set_len(end + len) };
        }
        Ok(is_whole)
    }

    /// Reads up to `len` bytes from offset `skip` of `from` on. Returns how many were read; none if the process is another one. The last
    /// of the local pieces is for the mark.
    fn read_pieces(
        &self,
        from: &[Piece],
        skip: u64,
        local: &mut [libc::iovec],
        len: u64,
        known: Known,
    ) -> io::Result<u64> {
        let mut remote = [NO_PIECE; MAX_PIECES + 1];
        let (mut skip, mut left, mut count) = (skip, len, 0);
        for piece in from {
            let begin = skip.min(piece.len);
            skip -= begin;
            let part = (piece.len - begin).min(left);
            if part > 0 && count < MAX_PIECES {
                remote[count] = remote_piece(piece.address.wrapping_add(begin), part);
                (left, count) = (left - part, count + 1);
            }
        }
        let mut mark = [0u8; MARK_LEN];
        if let Some(last) = local.last_mut() {
            *last = libc::iovec { iov_base: mark.as_mut_ptr().cast(), iov_len: MARK_LEN };
        }
        remote[count] = remote_piece(self.mark_at, MARK_LEN as u64);
        let marks = usize::from(known == Known::ByMark);
        let (locals, remotes) = ((local.len() - 1 + marks) as libc::c_ulong, (count + marks) as libc::c_ulong);
        // SAFETY: the local pieces can be written, as the callers say; remote ones that are not there are an error.
        let got = unsafe { libc::process_vm_readv(self.pid, local.as_ptr(), locals, remote.as_ptr(), remotes, 0) };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        if known == Known::Running {
            return Ok(got as u64);
        }
        let is_whole = got as u64 == len + MARK_LEN as u64;
        Ok(if is_whole && std::hint::black_box(mark) == self.mark { len } else { 0 })
    }
}

fn remote_piece(address: u64, len: u64) -> libc::iovec {
    libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: len as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_engine::{Extent, Region};
    use std::sync::atomic::Ordering;

    fn itself(mark: &[u8; MARK_LEN]) -> Option<Process> {
        Process::find(std::process::id() as i32, address(mark), *mark)
    }

    fn address(bytes: &[u8]) -> u64 {
        bytes.as_ptr().expose_provenance() as u64
    }

    #[test]
    fn pieces_of_one_side_end_elsewhere_than_those_of_the_other() {
        let mark = [7; MARK_LEN];
        let process = itself(&mark).unwrap();
        let bytes: Vec<u8> = (0..200).collect();
        let piece = |bytes: &[u8], len| Piece { address: address(bytes), len };
        let from = [piece(&bytes, 70), piece(&bytes[100..], 100)];
        let into = vec![0u8; 150];
        let extent = |offset, len| Extent { region: Region(address(&into)), offset, len };
        // Twenty pieces of five bytes, with gaps; then one.
        let mut pieces: Vec<Extent> = (0..20).map(|at| extent(at * 6, 5)).collect();
        pieces.push(extent(120, 30));
        let to = Payload::Many(pieces.into());
        let mut into = std::hint::black_box(into);
        for known in [Known::Running, Known::ByMark] {
            assert!(process.read(&from, &UserMemory::of_test(), &to, known).unwrap());
            let expected: Vec<u8> = (0..70).chain(100..160).collect();
            let pieces = (0..20).flat_map(|at| &into[at * 6..at * 6 + 5]);
            assert_eq!(pieces.chain(&into[120..150]).copied().collect::<Vec<u8>>(), expected);
            into.fill(0);
            let mut own = vec![9];
            assert!(process.read_own(&from, &mut own, known).unwrap());
            assert_eq!(own[1..], (0..70).chain(100..200).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn absent_memory_is_an_error() {
        let mark = [7; MARK_LEN];
        let nowhere = Piece { address: 16, len: 4 };
        assert!(itself(&mark).unwrap().read_own(&[nowhere], &mut Vec::new(), Known::Running).is_err());
        assert!(Process::find(0, address(&mark), mark).is_none());
        assert!(Process::find(std::process::id() as i32, 16, mark).is_none());
    }

    #[test]
    fn bytes_go_to_the_address_that_shared_memory_has_when_the_call_begins() {
        let mark = [7; MARK_LEN];
        let (process, (shared, _)) = (itself(&mark).unwrap(), SharedMemory::create(4096).unwrap());
        let (bytes, into) = ([1u8, 2, 3, 4, 5, 6], vec![0u8; 6]);
        let extent = |offset, len| Extent { region: Region(address(&bytes)), offset, len };
        let payload = Payload::Many(vec![extent(4, 2), extent(0, 3)].into());
        let memory = UserMemory::of_test();
        assert_eq!(Gathered::of(&memory, &payload, 5, 10).len, 0);
        let all = Gathered::of(&memory, &payload, 1, 10);
        assert_eq!(all.len, 4);
        let aim = |len: u64| {
            shared.store_long(64, address(&into), Ordering::Relaxed);
            shared.store_long(72, len, Ordering::Relaxed);
        };
        for (len, expected) in [(0, [0; 6]), (2, [6, 1, 0, 0, 0, 0]), (6, [6, 1, 2, 3, 0, 0])] {
            aim(len);
            assert_eq!(process.write(&all, &shared, 64).unwrap(), len.min(4));
            assert_eq!(std::hint::black_box(&into)[..], expected);
        }
        shared.store_long(64, 16, Ordering::Relaxed);
        assert!(process.write(&all, &shared, 64).is_err());
    }

    #[test]
    fn memory_of_another_process_at_the_address_is_not_used() {
        let mut mark = [7; MARK_LEN];
        let process = itself(&mark).unwrap();
        let (bytes, mut into) = ([1u8; 8], vec![9]);
        let all = Piece { address: address(&bytes), len: 8 };
        assert!(process.read_own(&[all], &mut into, Known::ByMark).unwrap());
        std::hint::black_box(&mut mark)[3] = 8;
        assert!(!process.read_own(&[all], &mut into, Known::ByMark).unwrap());
        assert_eq!(into, [9, 1, 1, 1, 1, 1, 1, 1, 1]);
    }
}
