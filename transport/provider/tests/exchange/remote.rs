//! Remote memory access through the provider's tables.

use std::ptr::null_mut;

use super::node::{Node, Read, pair, pair_with_counters};
use ofi_abi::*;

const ALL: u64 = FI_REMOTE_READ | FI_REMOTE_WRITE;

fn text(len: usize) -> Vec<u8> {
    (0..len as u32).map(|byte| (byte % 251) as u8).collect()
}

#[test]
fn a_write_and_a_read_complete_at_their_initiator_alone() {
    let (a, b) = pair();
    for len in [1, 5_000, 3_000_000] {
        let (bytes, mut memory, mut back) = (text(len), vec![0u8; len + 10], vec![0u8; len]);
        let region = b.register(&mut memory, ALL, 77).unwrap();
        a.write(&bytes, 10, 77, 5);
        let written = a.wait(&b);
        assert_eq!((written.context, written.flags), (5, FI_RMA | FI_WRITE));
        assert!(memory[10..] == bytes && memory[..10] == [0; 10]);
        a.read_memory(&mut back, 10, 77, 6);
        let read = a.wait(&b);
        assert_eq!((read.context, read.flags), (6, FI_RMA | FI_READ));
        assert!(back == bytes);
        assert!(matches!(b.read(), Read::Nothing));
        b.unregister(region);
    }
}

#[test]
fn data_of_a_write_comes_when_all_of_it_is_there() {
    let (a, b) = pair();
    let (bytes, mut memory) = (text(2_000_000), vec![0u8; 2_000_000]);
    let region = b.register(&mut memory, ALL, 7).unwrap();
    for len in [0, 100, bytes.len()] {
        a.writedata(&bytes[..len], 99, 7, 5);
        let told = b.wait(&a);
        assert_eq!((told.flags, told.data), (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, 99));
        // The last of several frames has no payload, and does not say how much the others had.
        assert_eq!(told.len, if len > 100 { 0 } else { len });
        assert!(memory[..len] == bytes[..len]);
        assert_eq!(a.wait(&b).context, 5);
    }
    b.unregister(region);
}

#[test]
fn an_injected_write_is_copied_counted_and_silent() {
    let (a, b) = pair_with_counters();
    let mut memory = [0u8; 5];
    let region = b.register(&mut memory, ALL, 7).unwrap();
    let mut bytes = *b"first";
    a.inject_write(&bytes, 0, 7);
    bytes.copy_from_slice(b"other");
    while a.counted() < 1 {
        b.read();
    }
    assert_eq!(&memory, b"first");
    assert!(matches!(a.read(), Read::Nothing));
    b.unregister(region);
}

#[test]
fn a_forbidden_access_fails_and_no_other_one() {
    let (a, b) = pair();
    let (mut memory, mut buffer) = (vec![1u8; 100], [0u8; 100]);
    let region = b.register(&mut memory, FI_REMOTE_READ, 7).unwrap();
    for (key, address, errno) in [(8, 0, FI_EKEYREJECTED), (7, 1, FI_EACCES), (7, u64::MAX, FI_EACCES)] {
        a.read_memory(&mut buffer, address, key, 5);
        assert_eq!((a.wait_error(&b).err, buffer), (errno, [0; 100]));
    }
    a.write(&[9; 100], 0, 7, 6);
    let refused = a.wait_error(&b);
    assert_eq!((refused.err, refused.context, refused.flags), (FI_EACCES, 6, FI_RMA | FI_WRITE));
    assert!(memory == [1; 100]);
    a.read_memory(&mut buffer, 0, 7, 5);
    assert_eq!((a.wait(&b).context, buffer), (5, [1; 100]));
    b.unregister(region);
    a.read_memory(&mut buffer, 0, 7, 5);
    assert_eq!(a.wait_error(&b).err, FI_EKEYREJECTED);
}

#[test]
fn a_key_names_one_region_at_a_time() {
    let node = Node::open(false);
    let mut memory = [0u8; 10];
    let region = node.register(&mut memory, ALL, 7).unwrap();
    assert_eq!(node.register(&mut memory, ALL, 7), Err(-FI_ENOKEY));
    node.unregister(region);
    let region = node.register(&mut memory, ALL, 7).unwrap();
    node.unregister(region);
}

#[test]
fn all_memory_can_be_registered_at_once() {
    let (a, b) = pair();
    let region = b.register_raw(null_mut(), usize::MAX, ALL, 7).unwrap();
    let memory = vec![0u8; 100_000];
    let bytes = text(memory.len());
    a.write(&bytes, memory.as_ptr().expose_provenance() as u64, 7, 5);
    a.wait(&b);
    assert!(memory == bytes);
    b.unregister(region);
}

#[test]
fn a_region_that_ends_in_the_middle_of_accesses_is_not_touched_afterwards() {
    let (a, b) = pair();
    let (bytes, mut back) = (text(40_000_000), vec![0u8; 40_000_000]);
    let mut memory = vec![0u8; bytes.len()];
    let region = b.register(&mut memory, ALL, 7).unwrap();
    a.write(&bytes, 0, 7, 5);
    a.read_memory(&mut back, 0, 7, 6);
    // Until something of the write is there.
    while memory[0..1000] != bytes[0..1000] {
        a.read();
        b.read();
        std::hint::black_box(&mut memory);
    }
    b.unregister(region);
    let after = memory.clone();
    for _ in 0..2 {
        assert_eq!(a.wait_error(&b).err, FI_EKEYREJECTED);
    }
    assert!(memory == after);
}
