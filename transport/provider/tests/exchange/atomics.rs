//! Atomic operations through the provider's tables.

use super::node::{Node, Read, pair, pair_with_counters};
use ofi_abi::*;

const ALL: u64 = FI_REMOTE_READ | FI_REMOTE_WRITE;
const INT64: u32 = 6;
const DOUBLE: u32 = 9;
const LONG_DOUBLE: u32 = 12;
const SUM: u32 = 2;
const BXOR: u32 = 9;
const READ: u32 = 10;
const CSWAP: u32 = 12;

fn register(node: &Node, memory: &mut [i64], access: u64) -> *mut fid_mr {
    node.register_raw(memory.as_mut_ptr().cast(), size_of_val(memory), access, 7).unwrap()
}

#[test]
fn operations_are_applied_and_complete_at_their_initiator_alone() {
    let (a, b) = pair();
    let mut memory = vec![1i64, 2, 3];
    let region = register(&b, &mut memory, ALL);
    assert_eq!(a.atomic(&[10, 20], (8, 7), (INT64, SUM), 5), 0);
    let done = a.wait(&b);
    assert_eq!((done.context, done.flags), (5, FI_ATOMIC | FI_WRITE));
    assert_eq!(memory, [1, 12, 23]);
    let mut before = [0i64; 2];
    assert_eq!(a.fetch_atomic(&[1, 1], &mut before, (0, 7), (INT64, SUM), 6), 0);
    let done = a.wait(&b);
    assert_eq!((done.context, done.flags), (6, FI_ATOMIC | FI_READ));
    assert_eq!((memory.as_slice(), before), (&[2, 13, 23][..], [1, 12]));
    for (comparand, value) in [(0, 2), (2, 99)] {
        let mut before = [0i64];
        assert_eq!(a.compare_atomic(&[99], &[comparand], &mut before, (0, 7), (INT64, CSWAP), 7), 0);
        assert_eq!(a.wait(&b).flags, FI_ATOMIC | FI_READ);
        assert_eq!((memory[0], before), (value, [2]));
    }
    let mut all = [0i64; 3];
    assert_eq!(a.fetch_atomic(&[], &mut all, (0, 7), (INT64, READ), 8), 0);
    a.wait(&b);
    assert_eq!(all, [99, 13, 23]);
    assert!(matches!(b.read(), Read::Nothing));
    b.unregister(region);
}

#[test]
fn an_injected_operation_is_copied_counted_and_silent() {
    let (a, b) = pair_with_counters();
    let mut memory = vec![40i64];
    let region = register(&b, &mut memory, ALL);
    let mut operand = [2i64];
    assert_eq!(a.inject_atomic(&operand, (0, 7), (INT64, SUM)), 0);
    std::hint::black_box(&mut operand)[0] = 1000;
    while a.counted() < 1 {
        a.read();
        b.read();
    }
    assert_eq!(memory, [42]);
    assert!(matches!(a.read(), Read::Nothing));
    b.unregister(region);
}

#[test]
fn those_of_one_endpoint_take_effect_in_their_order() {
    let (a, b) = pair();
    let mut memory = vec![0i64];
    let region = register(&b, &mut memory, ALL);
    let mut before = vec![[-1i64]; 1000];
    for (number, place) in before.iter_mut().enumerate() {
        assert_eq!(a.fetch_atomic(&[1], place, (0, 7), (INT64, SUM), number as u64), 0);
    }
    for _ in &before {
        a.wait(&b);
    }
    assert!(before.iter().enumerate().all(|(number, found)| found[0] == number as i64));
    assert_eq!(memory, [1000]);
    b.unregister(region);
}

#[test]
fn an_endpoint_may_change_its_own_memory() {
    let node = Node::open(false);
    node.insert(&node);
    let mut memory = vec![5i64];
    let region = register(&node, &mut memory, ALL);
    let mut before = [0i64];
    assert_eq!(node.fetch_atomic(&[3], &mut before, (0, 7), (INT64, BXOR), 1), 0);
    assert_eq!(node.wait_alone().flags, FI_ATOMIC | FI_READ);
    assert_eq!((memory[0], before[0]), (6, 5));
    node.unregister(region);
}

#[test]
fn a_forbidden_operation_fails_at_the_endpoint_that_posted_it() {
    let (a, b) = pair();
    let mut memory = vec![1i64; 2];
    let region = register(&b, &mut memory, FI_REMOTE_READ);
    let wrong = [((0, 8), FI_EKEYREJECTED), ((16, 7), FI_EACCES), ((0, 7), FI_EACCES)];
    for (at, errno) in wrong {
        assert_eq!(a.atomic(&[1], at, (INT64, SUM), 5), 0);
        assert_eq!((a.wait_error(&b).err, memory.as_slice()), (errno, &[1, 1][..]));
    }
    let mut before = [0i64];
    assert_eq!(a.fetch_atomic(&[1], &mut before, (0, 7), (INT64, READ), 5), 0);
    assert_eq!((a.wait(&b).flags, before), (FI_ATOMIC | FI_READ, [1]));
    b.unregister(region);
    let region = register(&b, &mut memory, ALL);
    assert_eq!(a.atomic(&[1], (4, 7), (INT64, SUM), 5), 0);
    assert_eq!(a.wait_error(&b).err, FI_EINVAL, "an array that is not aligned");
    assert_eq!(memory, [1, 1]);
    b.unregister(region);
}

#[test]
fn operations_that_there_are_not_are_refused_by_the_call() {
    let (a, _b) = pair();
    let refused = -FI_EOPNOTSUPP as isize;
    assert_eq!(a.atomic(&[1], (0, 7), (INT64, READ), 5), refused);
    assert_eq!(a.atomic(&[1], (0, 7), (INT64, CSWAP), 5), refused);
    assert_eq!(a.atomic(&[1], (0, 7), (DOUBLE, BXOR), 5), refused);
    assert_eq!(a.atomic(&[1], (0, 7), (LONG_DOUBLE, SUM), 5), refused);
    assert_eq!(a.atomic(&[1], (0, 7), (INT64, 77), 5), refused);
    assert_eq!(a.atomic(&[], (0, 7), (INT64, SUM), 5), -FI_EINVAL as isize);
    assert_eq!(a.atomic(&[1; 1025], (0, 7), (INT64, SUM), 5), -FI_EMSGSIZE as isize);
    assert_eq!(a.most_atomics(INT64, SUM), Ok(1024));
    assert_eq!(a.most_atomics(INT64, CSWAP), Err(-FI_EOPNOTSUPP));
    assert_eq!(a.query_atomic(INT64, CSWAP, FI_COMPARE_ATOMIC), Ok((1024, 8)));
    assert_eq!(a.query_atomic(INT64, CSWAP, FI_FETCH_ATOMIC), Err(-FI_EOPNOTSUPP));
}
