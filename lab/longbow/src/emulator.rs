//! Handle of a running emulator, for the program that controls it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use fishplate_link::Settings;
use serde::Serialize;

use crate::message::{Ready, Request, Response, Status};
use crate::plan::{Direction, Plan};

/// A running emulator. It ends when the handle is dropped, or when this process ends for any reason.
pub struct Emulator {
    /// Requests and responses, one line each.
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    child: Child,
    ready: Ready,
}

impl Emulator {
    /// Starts `command`, which must call [`crate::serve`] with its standard input and output, and waits until all rails of the
    /// plan work.
    ///
    /// # Errors
    /// If the plan cannot be set up here; describes the missing prerequisite.
    pub fn start(mut command: Command, plan: &Plan) -> Result<Emulator> {
        plan.check()?;
        // A process group of its own: Ctrl-C ends only this process, which then ends the emulator.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().context("cannot start an emulator")?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("an emulator without standard input and output");
        };
        let ready = Ready { realtime: false, notes: Vec::new() };
        let mut emulator = Emulator { to: input, from: BufReader::new(output), child, ready };
        emulator.ready = match emulator.send(plan)? {
            Response::Ready(ready) => ready,
            other => bail!("the emulator answered {other:?} to its plan"),
        };
        Ok(emulator)
    }

    /// Restrictions of the emulator on this machine.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Process ID of the emulator.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Changes the settings of one direction of a rail, at once.
    ///
    /// # Errors
    /// If there is no such rail, if the settings are invalid, or if the emulator has ended.
    pub fn set(&mut self, rail: &str, direction: Direction, settings: &Settings) -> Result<()> {
        let request = Request::Set { rail: rail.to_string(), direction, settings: settings.clone() };
        match self.send(&request)? {
            Response::Done => Ok(()),
            other => bail!("the emulator answered {other:?} to a change"),
        }
    }

    /// Its counters. `reset`: restarts the measurement of queue peaks and lateness.
    ///
    /// # Errors
    /// If the emulator has ended.
    pub fn status(&mut self, reset: bool) -> Result<Status> {
        match self.send(&Request::Status { reset })? {
            Response::Status(status) => Ok(status),
            other => bail!("the emulator answered {other:?} when asked for its status"),
        }
    }

    fn send(&mut self, request: &impl Serialize) -> Result<Response> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let gone = "the emulator is gone";
        self.to.write_all(&line).context(gone)?;
        let mut answer = String::new();
        if self.from.read_line(&mut answer).context(gone)? == 0 {
            bail!(gone);
        }
        match serde_json::from_str(&answer).context("the emulator's answer is not understood")? {
            Response::Error(error) => bail!(error),
            response => Ok(response),
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Killing is safe: the emulator never blocks for long in the kernel. Both calls fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
