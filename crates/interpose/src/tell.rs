//! What the user is told.

use std::fmt::Display;
use std::io::Write;

/// Writes a line to the error output, at once: other ranks write there too.
pub fn tell(text: impl Display) {
    // Nobody can be told that nobody can be told.
    let _ = std::io::stderr().write_all(format!("fishplate: {text}\n").as_bytes());
}
