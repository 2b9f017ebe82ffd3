//! Lines for the user of something odd that is no error of an operation.

use std::sync::atomic::{AtomicU32, Ordering};

/// Most lines of one process: whoever floods a port must not flood a log.
const MOST_LINES: u32 = 20;

static LINES: AtomicU32 = AtomicU32::new(0);

/// Prints a line on standard error.
pub fn warn(text: &str) {
    match LINES.fetch_add(1, Ordering::Relaxed) {
        before if before < MOST_LINES => eprintln!("fishplate: {text}"),
        MOST_LINES => eprintln!("fishplate: further warnings are not shown"),
        _ => {}
    }
}
