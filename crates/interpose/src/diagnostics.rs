//! Messages to the user.

use std::fmt::Display;
use std::io::Write;
use std::thread;
use std::time::Duration;

use rustix::io::ioctl_fionread;

/// Between two looks whether a line was read, and how many there are: 0.1 s in all.
const PAUSE: Duration = Duration::from_micros(100);
const MOST_LOOKS: usize = 1000;

/// Writes a line to the error output, at once: other ranks write there too.
pub fn report(text: impl Display) {
    // There is nowhere to report that this failed.
    let _ = std::io::stderr().write_all(format!("fishplate: {text}\n").as_bytes());
}

/// The same of what ends the job. Waits until the line is read: a process manager may hear of the end first, and drop what
/// was written.
pub fn report_end(text: impl Display) {
    report(text);
    let is_unread = || ioctl_fionread(std::io::stderr()).is_ok_and(|unread| unread > 0);
    (0..MOST_LOOKS).take_while(|_| is_unread()).for_each(|_| thread::sleep(PAUSE));
}
