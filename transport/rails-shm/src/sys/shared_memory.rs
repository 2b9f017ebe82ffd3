//! Memory that two processes map, accessed without trust in the other process, which may write anything at any time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fishplate_engine::Payload;
use fishplate_link_core::UserMemory;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};

/// Seals that keep the other process from changing the length of the memory.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Shared memory as it is mapped here.
pub struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its mapping, which belongs to no thread.
unsafe impl Send for SharedMemory {}
// SAFETY: words are atomic, and bytes are only copied.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// New memory of `len` zero bytes, all allocated: an access cannot fail later for lack of memory.
    pub fn create(len: usize) -> io::Result<(SharedMemory, OwnedFd)> {
        let file = rustix::fs::memfd_create("fishplate", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len as u64)?;
        rustix::fs::fcntl_add_seals(&file, SEALS | SealFlags::SEAL)?;
        Ok((SharedMemory::map(file.as_fd(), len)?, file))
    }

    /// Maps memory that another process has created. Its length must be `len`, and sealed.
    pub fn open(file: BorrowedFd<'_>, len: usize) -> io::Result<SharedMemory> {
        let is_sealed = rustix::fs::fcntl_get_seals(file)?.contains(SEALS);
        if !is_sealed || rustix::fs::fstat(file)?.st_size != len as i64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        SharedMemory::map(file, len)
    }

    fn map(file: BorrowedFd<'_>, len: usize) -> io::Result<SharedMemory> {
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping, of a place that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(base.cast())
            .map(|base| SharedMemory { base, len })
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Address of the mapping.
    pub fn address(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
    }

    /// Loads the word at offset `at`, a multiple of four.
    #[inline]
    pub fn load(&self, at: usize, ordering: Ordering) -> u32 {
        self.word(at).load(ordering)
    }

    /// Stores the word at offset `at`.
    #[inline]
    pub fn store(&self, at: usize, value: u32, ordering: Ordering) {
        self.word(at).store(value, ordering);
    }

    /// Replaces the word at offset `at`; returns the old value.
    #[inline]
    pub fn swap(&self, at: usize, value: u32) -> u32 {
        self.word(at).swap(value, Ordering::SeqCst)
    }

    /// Stores two words at once, at a multiple of eight.
    #[inline]
    pub fn store_long(&self, at: usize, value: u64, ordering: Ordering) {
        assert!(at.is_multiple_of(8));
        // SAFETY: inside of the mapping and aligned, as the mapping is; a concurrent writer can only corrupt the number.
        unsafe { AtomicU64::from_ptr(self.at(at, 8).cast()) }.store(value, ordering);
    }

    /// The iovec at offset `at`, for a system call that reads it there.
    pub(super) fn piece(&self, at: usize) -> *const libc::iovec {
        assert!(at.is_multiple_of(align_of::<libc::iovec>()));
        self.at(at, size_of::<libc::iovec>()).cast_const().cast()
    }

    /// Copies `bytes` to offset `at`.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        // SAFETY: `at` checks that there is room; a concurrent writer can only corrupt the bytes copied.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(at, bytes.len()), bytes.len()) };
    }

    /// [`SharedMemory::write`] with a constant length: a few instructions.
    #[inline]
    pub fn write_array<const N: usize>(&self, at: usize, bytes: &[u8; N]) {
        // SAFETY: as in `write`.
        unsafe { self.at(at, N).cast::<[u8; N]>().write_unaligned(*bytes) };
    }

    /// Copies the bytes at offset `at`.
    #[inline]
    pub fn read(&self, at: usize, into: &mut [u8]) {
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(self.at(at, into.len()), into.as_mut_ptr(), into.len()) };
        is_read(into);
    }

    /// The `N` bytes at byte `at`.
    #[inline]
    pub fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        // SAFETY: as in `write`; any bytes make an array of them.
        let mut bytes = unsafe { self.at(at, N).cast::<[u8; N]>().read() };
        is_read(&mut bytes);
        bytes
    }

    /// Has the processor fetch the cache line at byte `at`, as it will be written.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        // SAFETY: a hint, of an address inside of the mapping.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::x86_64::_mm_prefetch(self.at(at, 1).cast(), std::arch::x86_64::_MM_HINT_ET0);
        }
    }

    /// Appends the bytes at offset `at` to a vector.
    pub fn append(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        to.reserve(len);
        let end = to.len();
        // SAFETY: as in `write`; the vector has room for `len` more bytes, which the copy initializes.
        unsafe {
            std::ptr::copy_nonoverlapping(self.at(at, len), to.as_mut_ptr().add(end), len);
            to.set_len(end + len);
        }
        is_read(&mut to[end..]);
    }

    /// Copies the bytes at offset `at` to offset `to_at` of user memory; bytes that do not fit are dropped.
    #[inline]
    pub fn place(&self, at: usize, len: usize, memory: &UserMemory, to: &Payload, to_at: u64) {
        let mut from = at;
        for part in memory.parts(to, to_at, len as u64) {
            // SAFETY: as in `write`; the creator of `memory` guarantees that its parts can be written.
            unsafe { std::ptr::copy_nonoverlapping(self.at(from, part.len()), part.cast(), part.len()) };
            from += part.len();
        }
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4));
        // SAFETY: it is inside of the mapping and aligned, as the mapping is, and only accessed as an atomic by this crate.
        unsafe { AtomicU32::from_ptr(self.at(at, 4).cast()) }
    }

    #[inline]
    fn at(&self, at: usize, len: usize) -> *mut u8 {
        assert!(len <= self.len && at <= self.len - len, "beyond the shared memory");
        // SAFETY: inside of the mapping.
        unsafe { self.base.as_ptr().add(at) }
    }
}

/// Keeps the compiler from reading the source again instead of the copy: the peer may have changed it since the copy was checked.
#[inline]
fn is_read(copy: &mut [u8]) {
    std::hint::black_box(copy.as_mut_ptr());
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_show_the_same_and_neither_side_can_shorten_them() {
        let (one, file) = SharedMemory::create(8192).unwrap();
        let other = SharedMemory::open(file.as_fd(), 8192).unwrap();
        one.write(5000, b"here");
        let mut seen = Vec::new();
        other.append(5000, 4, &mut seen);
        assert_eq!(seen, b"here");
        assert!(rustix::fs::ftruncate(&file, 0).is_err());
        assert!(SharedMemory::open(file.as_fd(), 4096).is_err(), "another length than agreed");
    }

    #[test]
    fn memory_that_could_vanish_is_refused() {
        let file = rustix::fs::memfd_create("loose", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        assert!(SharedMemory::open(file.as_fd(), 4096).is_err());
    }

    #[test]
    #[should_panic(expected = "beyond the shared memory")]
    fn nothing_is_read_beyond_it() {
        let (memory, _) = SharedMemory::create(4096).unwrap();
        memory.read(4090, &mut [0; 7]);
    }
}
