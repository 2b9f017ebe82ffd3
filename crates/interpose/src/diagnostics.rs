//! Messages to the user.

use std::fmt::Display;
use std::io::Write;

/// Writes a line to the error output, at once: other ranks write there too.
pub fn report(text: impl Display) {
    // There is nowhere to report that this failed.
    let _ = std::io::stderr().write_all(format!("fishplate: {text}\n").as_bytes());
}
