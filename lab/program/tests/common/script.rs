//! Scripts that stand for programs of a machine.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes a program of a script. Another process writes it: a file that is being written while another thread forks is
/// "busy".
pub fn script(file: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(file).stdin(Stdio::piped());
    let mut writer = shell.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}
