//! Counts what short messages cost, under `valgrind --tool=callgrind` (`bench/message_counts`): two endpoints in this process
//! send to each other in turn, through the functions that libfabric calls.
//!
//!     message_counts rails|memory SIZE MESSAGES
//!
//! The clock is our own, so that what is done every few milliseconds is done after the same number of messages wherever this
//! runs.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};

#[path = "../tests/exchange/node.rs"]
#[macro_use]
#[allow(dead_code)]
mod node;

use node::Node;

/// Nanoseconds of the clock from one look at it by the main thread to the next.
const STEP_NS: i64 = 1_000;
/// Messages before the first that counts: connections are up then, and peers have found out how to talk.
const WARM_UP: usize = 200;

static NOW_NS: AtomicI64 = AtomicI64::new(1_000_000_000);

thread_local! {
    static ADVANCES: Cell<bool> = const { Cell::new(false) };
}

/// The C library's function, for the whole process.
///
/// # Safety
/// `time` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(_: c_int, time: *mut [i64; 2]) -> c_int {
    let step = if ADVANCES.get() { STEP_NS } else { 0 };
    let now = NOW_NS.fetch_add(step, Ordering::Relaxed);
    // SAFETY: the caller says so.
    unsafe { *time = [now / 1_000_000_000, now % 1_000_000_000] };
    0
}

/// One message, all that sender and receiver do for it. Callgrind counts in here alone.
#[inline(never)]
#[unsafe(no_mangle)]
pub fn counted_message(from: &Node, to: &Node, bytes: &mut [u8], size: usize) {
    let (out, into) = bytes.split_at_mut(size);
    to.trecv(into, 1, 0, 7);
    assert_eq!(from.tinject(out, 1), 0);
    while !to.has_read() {}
}

/// The same while the endpoints connect, which takes both.
fn first_message(from: &Node, to: &Node, bytes: &mut [u8], size: usize) {
    let (out, into) = bytes.split_at_mut(size);
    to.trecv(into, 1, 0, 7);
    assert_eq!(from.tinject(out, 1), 0);
    while !to.has_read() {
        from.make_progress();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).and_then(|word| word.parse::<usize>().ok());
    let (Some(way), Some(size), Some(messages)) = (arguments.get(1), number(2), number(3)) else {
        eprintln!("message_counts rails|memory SIZE MESSAGES");
        std::process::exit(2);
    };
    let shared_memory = if way == "memory" { "on" } else { "off" };
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("FISHPLATE_SHARED_MEMORY", shared_memory) };
    ADVANCES.set(true);
    let (a, b) = node::pair();
    let mut bytes = vec![0; 2 * size];
    for _ in 0..WARM_UP {
        first_message(&a, &b, &mut bytes, size);
        first_message(&b, &a, &mut bytes, size);
    }
    for _ in 0..messages / 2 {
        counted_message(&a, &b, &mut bytes, size);
        counted_message(&b, &a, &mut bytes, size);
    }
    // To close waits for a time that this clock takes too long for.
    std::mem::forget((a, b));
}
