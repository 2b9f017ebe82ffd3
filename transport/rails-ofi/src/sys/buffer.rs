//! Registered buffers for messages.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::Error;
use super::domain::Domain;
use super::registration::{Registration, Use, register_own};

/// A buffer for one message that no operation uses.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    chunk: Arc<Chunk>,
}

// SAFETY: the only handle to its bytes.
unsafe impl Send for Buffer {}

/// The memory of several buffers.
struct Chunk {
    /// Is closed first.
    registration: Option<Registration>,
    _memory: Memory,
}

// SAFETY: only its descriptor is read, which does not change.
unsafe impl Sync for Chunk {}

/// Bytes that only [`Buffer`]s access.
struct Memory(*mut [u8]);

// SAFETY: owned memory.
unsafe impl Send for Memory {}

impl Memory {
    fn new(len: usize) -> Memory {
        Memory(Box::into_raw(vec![0u8; len].into_boxed_slice()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made of a box; the last buffer is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Buffer {
    /// Memory for `count` messages of `len` bytes.
    pub(super) fn several(domain: &Arc<Domain>, count: usize, len: usize) -> Result<Vec<Buffer>, Error> {
        let memory = Memory::new(count * len);
        // SAFETY: owned memory, which the chunk keeps longer than its registration.
        let registration = unsafe { register_own(domain, memory.0, Use::Messages) }?;
        Ok(Buffer::cut(count, len, registration, memory))
    }

    /// Buffers for tests, without registration.
    #[cfg(any(test, feature = "hostile-input"))]
    pub fn unregistered(count: usize, len: usize) -> Vec<Buffer> {
        Buffer::cut(count, len, None, Memory::new(count * len))
    }

    fn cut(count: usize, len: usize, registration: Option<Registration>, memory: Memory) -> Vec<Buffer> {
        let start = memory.0.cast::<u8>();
        let chunk = Arc::new(Chunk { registration, _memory: memory });
        let buffer = |at: usize| {
            // SAFETY: inside of the memory.
            let start = unsafe { NonNull::new_unchecked(start.add(at * len)) };
            Buffer { start, len, chunk: chunk.clone() }
        };
        (0..count).map(buffer).collect()
    }

    /// Its contents.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: its bytes are initialized, and not under way while there is a handle.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Its contents, mutably.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as before, and this is the only handle.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(super) fn descriptor(&self) -> *mut c_void {
        self.chunk.registration.as_ref().map_or(null_mut(), Registration::descriptor)
    }
}
