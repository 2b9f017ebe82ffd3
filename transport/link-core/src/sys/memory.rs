//! User memory, as named by the extents of requests.

use fishplate_engine::{Extent, Payload, Region};

/// Access to the memory that extents name. A value of this type is the proof that its maker vouches for all extents.
#[derive(Debug)]
pub struct UserMemory {
    _vouched: (),
}

impl UserMemory {
    /// # Safety
    /// Every extent handed to the methods names memory of this process: `region` is an address, and `len` bytes from
    /// `region + offset` on are valid for reads (as a source) or writes (as a destination) and not otherwise accessed
    /// during the call, nor between a call of [`address`](UserMemory::address) or [`parts`](UserMemory::parts)
    /// and the end of the system call it is for.
    pub unsafe fn vouched() -> Self {
        UserMemory { _vouched: () }
    }

    /// For another thread, to which extents are lent that this thread does not access until it has them back.
    pub fn lent(&self) -> Self {
        UserMemory { _vouched: () }
    }

    /// For tests, whose extents name live memory.
    #[cfg(any(test, feature = "test-support"))]
    pub fn of_test() -> Self {
        UserMemory { _vouched: () }
    }

    /// Appends the bytes of `payload` to `out`.
    pub fn read(&self, payload: &Payload, out: &mut Vec<u8>) {
        for extent in payload.extents().iter().filter(|extent| extent.len > 0) {
            let (end, len) = (out.len(), extent.len as usize);
            out.reserve(len);
            // SAFETY: the creator of `self` guarantees that the extent can be read; the vector has room for `len` more bytes, which
            // the copy initializes. No reference is made: a program may change memory that a peer reads.
            unsafe {
                std::ptr::copy_nonoverlapping(address(extent), out.as_mut_ptr().add(end), len);
                out.set_len(end + len);
            }
        }
    }

    /// The pieces of bytes `[from, from + len)` of `payload`, clamped to its end.
    #[inline]
    pub fn parts(&self, payload: &Payload, from: u64, len: u64) -> impl Iterator<Item = *mut [u8]> {
        let (mut skip, mut left) = (from, len);
        payload.extents().iter().filter_map(move |extent| {
            let part = extent.slice(skip, left);
            skip -= skip.min(extent.len);
            left -= part.len;
            (part.len > 0).then(|| std::ptr::slice_from_raw_parts_mut(address(&part), part.len as usize))
        })
    }

    /// Calls `take` for the pieces of bytes `[from, from + len)` of `payload`. It reads each byte once. If a program writes there
    /// meanwhile, which it must not during a send, the sent bytes are garbage; with checksums, the link fails too.
    #[inline]
    pub fn for_each(&self, payload: &Payload, from: u64, len: u64, mut take: impl FnMut(&[u8])) {
        if let Payload::One(extent) = payload {
            let part = extent.slice(from, len);
            if part.len > 0 {
                // SAFETY: the creator of `self` guarantees that the extent can be read, and that MPI does not let the program write there.
                take(unsafe { std::slice::from_raw_parts(address(&part), part.len as usize) });
            }
            return;
        }
        for part in self.parts(payload, from, len) {
            // SAFETY: as above.
            take(unsafe { &*part });
        }
    }

    /// Copies `bytes` to `place`, from byte `at` of it on; what does not fit is dropped.
    #[inline]
    pub fn write(&self, place: &Payload, at: u64, bytes: &[u8]) {
        if let Payload::One(extent) = place {
            let part = extent.slice(at, bytes.len() as u64);
            // SAFETY: the creator of `self` guarantees that the extent can be written; it is not longer than `bytes`.
            return unsafe { std::ptr::copy(bytes.as_ptr(), address(&part), part.len as usize) };
        }
        let mut rest = bytes;
        for part in self.parts(place, at, bytes.len() as u64) {
            let (now, later) = rest.split_at(part.len());
            // SAFETY: the creator of `self` guarantees that the extent can be written; `now` is as long as `part`.
            unsafe { std::ptr::copy(now.as_ptr(), part.cast(), now.len()) };
            rest = later;
        }
    }

    /// The address of an extent, for a system call that gathers or scatters.
    #[inline]
    pub fn address(&self, extent: &Extent) -> *mut u8 {
        address(extent)
    }
}

/// The memory of `bytes`.
pub fn payload_of(bytes: &[u8]) -> Payload {
    Payload::whole(Region(bytes.as_ptr().expose_provenance() as u64), bytes.len() as u64)
}

/// Whether two payloads have a byte in common.
#[inline]
pub fn overlaps(a: &Payload, b: &Payload) -> bool {
    let range = |extent: &Extent| {
        let start = u128::from(extent.region.0.wrapping_add(extent.offset));
        (start, start + u128::from(extent.len))
    };
    let meet = |a: &Extent, b: &Extent| range(a).0 < range(b).1 && range(b).0 < range(a).1;
    a.extents().iter().any(|a| b.extents().iter().any(|b| meet(a, b)))
}

/// The address of an extent.
#[inline]
pub(super) fn address(extent: &Extent) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(extent.region.0.wrapping_add(extent.offset) as usize)
}
