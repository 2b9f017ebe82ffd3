//! Counts what short messages cost, under `valgrind --tool=callgrind` (`bench/message_counts.py`): two endpoints in this process
//! send to each other in turn, through the functions that libfabric calls of the library.
//!
//!     message_counts LIBRARY rails|checked|memory SIZE MESSAGES
//!
//! It is run under a clock of its own (`bench/message_counts_clock.c`), so that what is done every few milliseconds is done
//! after the same number of messages wherever this runs.

use std::ffi::CString;
use std::sync::OnceLock;

use ofi_abi::fi_provider;

#[path = "../tests/exchange/node.rs"]
#[macro_use]
#[allow(dead_code)]
mod node;

use node::Node;

/// Messages before the first that counts: connections are up then, and peers have found out how to talk.
const WARM_UP: usize = 200;

/// Where the library is.
static LIBRARY: OnceLock<CString> = OnceLock::new();

/// The provider of the library.
fn provider() -> *mut fi_provider {
    let path = LIBRARY.get().expect("the library is known");
    // SAFETY: a library that is loaded for as long as this process lives, and the function that every provider has.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "{path:?} cannot be loaded");
        let function = libc::dlsym(library, c"fi_prov_ini".as_ptr());
        assert!(!function.is_null(), "{path:?} is no provider");
        std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> *mut fi_provider>(function)()
    }
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

/// One message while the endpoints connect, which needs calls of both.
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
    let (Some(library), Some(way), Some(size), Some(messages)) =
        (arguments.get(1), arguments.get(2), number(3), number(4))
    else {
        eprintln!("message_counts LIBRARY rails|checked|memory SIZE MESSAGES");
        std::process::exit(2);
    };
    LIBRARY.get_or_init(|| CString::new(library.as_str()).expect("a path"));
    let shared_memory = if way == "memory" { "on" } else { "off" };
    let checksum = if way == "checked" { "on" } else { "off" };
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("FISHPLATE_SHARED_MEMORY", shared_memory);
        std::env::set_var("FISHPLATE_CHECKSUM", checksum);
    }
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
