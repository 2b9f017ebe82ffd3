//! Programs of the system that this one calls.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Folders that an ordinary user's PATH often lacks, and that hold `ip` and `tc`.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// The file of the program `name`, in PATH or in the folders of system tools.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// The file of the iproute2 program `name`; an error says how to get it.
pub fn iproute2(name: &str) -> Result<PathBuf> {
    find(name).with_context(|| format!("`{name}` is missing: install the package iproute2"))
}

/// Runs `command` with `input`, quietly unless it fails. Returns its output.
pub fn run_quietly(command: &mut Command, input: &str) -> Result<String> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {shown}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that stops reading says why on its error output.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().with_context(|| format!("cannot wait for {shown}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed: {}\n{input}", error.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `text` as one word of a shell command line.
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_string();
    }
    shell_quote_always(text)
}

/// `text` as one quoted word of a shell command line.
pub fn shell_quote_always(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_survives_a_shell() {
        for text in ["", "plain", "two words", "it's", "$HOME `x` \"q\" \\", "a\nb", "*", "~"] {
            let printed = format!("printf %s {}", shell_quote(text));
            let exported = format!("export X={}; printf %s \"$X\"", shell_quote_always(text));
            for script in [printed, exported] {
                assert_eq!(run_quietly(Command::new("sh").arg("-c").arg(script), "").unwrap(), text);
            }
        }
    }
}
