//! Reading the memory of another process of the same user, where the system allows it.

use std::io;

use fishplate_engine::Payload;

use super::memory::UserMemory;

/// Most pieces on either side of one call.
pub const MAX_PIECES: usize = 16;

/// Reads what is at the addresses `from` of process `pid`, each with its length, into user memory from byte 0 of `to` on, as
/// much as fits. False if not all of that came.
pub fn read(pid: i32, from: &[(u64, u64)], memory: &UserMemory, to: &Payload) -> io::Result<bool> {
    let len = from.iter().map(|(_, len)| len).sum::<u64>().min(to.len());
    let mut local = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; MAX_PIECES];
    let (mut done, mut read) = (0, 0);
    // Mostly once; more often where the user's memory has many pieces.
    while done < len {
        let mut count = 0;
        let mut wanted = 0;
        for (slot, part) in local.iter_mut().zip(memory.parts(to, done, len - done)) {
            *slot = libc::iovec { iov_base: part.cast(), iov_len: part.len() };
            wanted += part.len() as u64;
            count += 1;
        }
        read += read_pieces(pid, from, done, &local[..count], wanted)?;
        done += wanted;
        if read < done {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same to the end of a vector.
pub fn read_own(pid: i32, from: &[(u64, u64)], to: &mut Vec<u8>) -> io::Result<bool> {
    let len = from.iter().map(|(_, len)| len).sum::<u64>() as usize;
    to.reserve(len);
    let end = to.len();
    let spare = to.spare_capacity_mut();
    let local = [libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: len }];
    let got = read_pieces(pid, from, 0, &local, len as u64)? as usize;
    // SAFETY: there is room for `len` bytes, and the kernel has written the first `got` of them, no more than `len`.
    unsafe { to.set_len(end + got.min(len)) };
    Ok(got == len)
}

/// How many bytes came of the `len` from byte `skip` of `from` on.
fn read_pieces(pid: i32, from: &[(u64, u64)], skip: u64, local: &[libc::iovec], len: u64) -> io::Result<u64> {
    let mut remote = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; MAX_PIECES];
    let (mut skip, mut left, mut count) = (skip, len, 0);
    for (address, piece) in from {
        let begin = skip.min(*piece);
        skip -= begin;
        let part = (piece - begin).min(left);
        if part > 0 && count < MAX_PIECES {
            let base = std::ptr::without_provenance_mut(address.wrapping_add(begin) as usize);
            remote[count] = libc::iovec { iov_base: base, iov_len: part as usize };
            (left, count) = (left - part, count + 1);
        }
    }
    let (locals, remotes) = (local.len() as libc::c_ulong, count as libc::c_ulong);
    // SAFETY: the local pieces can be written, as the callers say; remote ones that are not there are an error.
    let got = unsafe { libc::process_vm_readv(pid, local.as_ptr(), locals, remote.as_ptr(), remotes, 0) };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_engine::{Extent, Region};

    fn address(bytes: &[u8]) -> u64 {
        bytes.as_ptr().expose_provenance() as u64
    }

    #[test]
    fn pieces_of_one_side_end_elsewhere_than_those_of_the_other() {
        let pid = std::process::id() as i32;
        let bytes: Vec<u8> = (0..200).collect();
        let from = [(address(&bytes), 70), (address(&bytes[100..]), 100)];
        let into = vec![0u8; 150];
        let extent = |offset, len| Extent { region: Region(address(&into)), offset, len };
        // Twenty pieces of five bytes, with gaps; then one.
        let mut pieces: Vec<Extent> = (0..20).map(|at| extent(at * 6, 5)).collect();
        pieces.push(extent(120, 30));
        let to = Payload::Many(pieces.into());
        assert!(read(pid, &from, &UserMemory::of_test(), &to).unwrap());
        let expected: Vec<u8> = (0..70).chain(100..160).collect();
        let into = std::hint::black_box(into);
        let got: Vec<u8> = (0..20).flat_map(|at| &into[at * 6..at * 6 + 5]).chain(&into[120..150]).copied().collect();
        assert_eq!(got, expected);
        let mut own = vec![9];
        assert!(read_own(pid, &from, &mut own).unwrap());
        assert_eq!(own[1..], (0..70).chain(100..200).collect::<Vec<u8>>());
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let pid = std::process::id() as i32;
        assert!(read_own(pid, &[(16, 4)], &mut Vec::new()).is_err());
        assert!(read_own(0, &[(16, 4)], &mut Vec::new()).is_err());
    }
}
