//! An event queue carries what the application writes into it.

use std::ffi::c_int;
use std::ptr::null_mut;

use ofi_abi::*;

use crate::node::Node;

fn open(node: &Node, wait_obj: u32) -> Result<*mut fid_eq, c_int> {
    let mut attr = fi_eq_attr { size: 32, flags: FI_WRITE, wait_obj, signaling_vector: 0, wait_set: null_mut() };
    let mut queue = null_mut();
    match invoke!(node.fabric, ops, eq_open, &mut attr, &mut queue, null_mut()) {
        0 => Ok(queue),
        error => Err(error),
    }
}

#[test]
fn a_written_event_comes_out_and_its_descriptor_is_readable() {
    let node = Node::open(false);
    let queue = open(&node, FI_WAIT_FD).unwrap();
    let mut descriptor: c_int = -1;
    assert_eq!(invoke_fid!(queue, fid.ops, control, FI_GETWAIT, (&raw mut descriptor).cast()), 0);
    assert!(descriptor >= 0);
    let trywait = || invoke!(node.fabric, ops, trywait, [queue.cast::<fid>()].as_mut_ptr(), 1);
    assert_eq!(trywait(), 0);
    assert_eq!(invoke!(queue, ops, write, 3, b"an entry".as_ptr().cast(), 8, 0), 8);
    assert_eq!(trywait(), -FI_EAGAIN);
    let read = |room: usize, flags: u64| {
        let (mut kind, mut entry) = (0, [0u8; 16]);
        let len = invoke!(queue, ops, sread, &mut kind, entry.as_mut_ptr().cast(), room, 0, flags);
        (len, kind, entry)
    };
    assert_eq!(read(16, FI_PEEK), (8, 3, *b"an entry\0\0\0\0\0\0\0\0"));
    assert_eq!(read(2, 0), (2, 3, *b"an\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    assert_eq!(read(16, 0).0, -(FI_EAGAIN as isize));
    assert_eq!(trywait(), 0);
    assert_eq!(invoke_fid!(queue, fid.ops, close), 0);
}

#[test]
fn there_is_no_descriptor_where_none_was_asked_for() {
    let node = Node::open(false);
    let queue = open(&node, FI_WAIT_UNSPEC).unwrap();
    let mut descriptor: c_int = -1;
    let answer = invoke_fid!(queue, fid.ops, control, FI_GETWAIT, (&raw mut descriptor).cast());
    assert_eq!((answer, descriptor), (-FI_ENOSYS, -1));
    assert_eq!(invoke_fid!(queue, fid.ops, close), 0);
    const FI_WAIT_SET: u32 = 2;
    assert_eq!(open(&node, FI_WAIT_SET), Err(-FI_ENOSYS));
}
