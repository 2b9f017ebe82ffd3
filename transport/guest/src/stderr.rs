//! Lines of libraries in an MPI process on its error output, mostly before they end a job.

use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use crate::printable;

/// How long a line may wait for its reader.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long it is left alone in between.
const PAUSE: Duration = Duration::from_micros(100);

/// Prints one line, in one piece: other ranks print as well. A closed stderr is nobody's error.
///
/// Then waits, up to 0.1 s, until it is read: MPICH's process manager passes on that a rank aborts before what that rank
/// has written to its pipe, and ends without it.
pub fn report(what: impl Display) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(printable(&format!("fishplate: {what}\n")).as_bytes());
    wait_until_read(&stderr, PATIENCE);
}

/// Prints lines in the handler of a signal: no memory is asked for, and no lock taken.
pub fn report_in_handler(lines: &'static str) {
    let _ = rustix::io::write(std::io::stderr(), lines.as_bytes());
}

/// Whether all that was written to `pipe` has been read within `patience`.
fn wait_until_read(pipe: impl AsFd, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while ioctl_fionread(&pipe).is_ok_and(|unread| unread > 0) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};

    use super::*;

    #[test]
    fn a_line_waits_for_its_reader_but_not_for_ever() {
        let (mut reader, mut writer) = pipe().unwrap();
        assert!(wait_until_read(&writer, Duration::ZERO), "nothing is unread");
        writer.write_all(b"a line").unwrap();
        assert!(!wait_until_read(&writer, Duration::ZERO), "nobody has read it");
        let read = thread::spawn(move || reader.read_exact(&mut [0; 6]).map(|()| reader));
        assert!(wait_until_read(&writer, Duration::from_secs(3600)), "it is read");
        read.join().unwrap().unwrap();
    }
}
