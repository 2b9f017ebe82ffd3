//! How a command is started on another host: by the remote shell of a testbed, by ssh, or as the user says.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::lab::launch::REMOTE_SHELL;
use crate::system::programs::shell_quote_always;

/// Never asks for a password, and does not wait long for a host that is not there.
const SSH: [&str; 5] = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];

/// The words of a remote shell, ahead of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteShell(Vec<String>);

impl RemoteShell {
    /// The user's choice; else the shell of the testbed that this process is in; else ssh.
    pub fn new(given: Option<&str>) -> Result<RemoteShell> {
        let testbed = std::env::var(REMOTE_SHELL).ok().filter(|shell| !shell.is_empty());
        let words: Vec<String> = match (given, testbed) {
            (Some(given), _) => given.split_whitespace().map(str::to_string).collect(),
            (None, Some(testbed)) => vec![testbed],
            (None, None) => SSH.iter().map(|word| word.to_string()).collect(),
        };
        ensure!(
            !words.is_empty(),
            "--remote-shell \"\" names no program; allowed: a command that takes a host and a line"
        );
        Ok(RemoteShell(words))
    }

    pub fn program(&self) -> &str {
        &self.0[0]
    }

    /// A script of the Bourne shell on `host`, whichever shell the user has there.
    pub fn command(&self, host: &str, script: &str) -> Command {
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]).arg(host).arg(format!("exec /bin/sh -c {}", shell_quote_always(script)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_comes_through_shells_as_it_is() {
        let shell = RemoteShell::new(Some("env -u NOTHING sh -c")).unwrap();
        // `sh -c HOST LINE`: the host is a line that runs the next word.
        let output = shell.command("eval \"$0\"", "printf %s \"it's $((1 + 1))\"").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "it's 2");
        assert!(RemoteShell::new(Some(" ")).is_err());
    }
}
