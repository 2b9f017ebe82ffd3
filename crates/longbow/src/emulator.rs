//! An emulator, as seen by the program that drives it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use fishplate_link::Settings;
use serde::Serialize;

use crate::message::{Ready, Request, Response, Status};
use crate::plan::{Direction, Plan};

/// A running emulator. It ends when this is dropped, or when this process ends, however it does.
pub struct Emulator {
    requests: RequestChannel<BufReader<ChildStdout>, ChildStdin>,
    child: Child,
    ready: Ready,
}

impl Emulator {
    /// Starts `command`, which calls `emulator_process` with its standard input and output, and waits until
    /// all rails of the plan work.
    ///
    /// # Errors
    /// If the plan cannot be carried out here, with what is missing.
    pub fn start(mut command: Command, plan: &Plan) -> Result<Emulator> {
        plan.check()?;
        // A group of its own, so that Ctrl-C leaves it to this process to end it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().context("cannot start an emulator")?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("an emulator without standard input and output");
        };
        let mut requests = RequestChannel { from: BufReader::new(output), to: input };
        let ready = match requests.ask(plan) {
            Ok(Response::Ready(ready)) => Ok(ready),
            Ok(other) => Err(anyhow::anyhow!("the emulator answered {other:?} to its plan")),
            Err(error) => Err(error),
        };
        let mut emulator = Emulator { requests, child, ready: Ready { realtime: false, notes: Vec::new() } };
        emulator.ready = ready?;
        Ok(emulator)
    }

    /// What is particular about it on this machine.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Number of its process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Changes one direction of a rail, at once.
    ///
    /// # Errors
    /// If there is no such rail, if the settings cannot be, or if the emulator is gone.
    pub fn set(&mut self, rail: &str, direction: Direction, settings: &Settings) -> Result<()> {
        let request = Request::Set { rail: rail.to_string(), direction, settings: settings.clone() };
        match self.requests.ask(&request)? {
            Response::Done => Ok(()),
            other => bail!("the emulator answered {other:?} to a change"),
        }
    }

    /// What it has counted. `reset`: queue peaks and lateness count anew from now on.
    ///
    /// # Errors
    /// If the emulator is gone.
    pub fn status(&mut self, reset: bool) -> Result<Status> {
        match self.requests.ask(&Request::Status { reset })? {
            Response::Status(status) => Ok(status),
            other => bail!("the emulator answered {other:?} when asked for its status"),
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // A thread that is never blocked for long, so it may be killed; both fail only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Questions and answers, a line each.
struct RequestChannel<R, W> {
    from: R,
    to: W,
}

impl<R: BufRead, W: Write> RequestChannel<R, W> {
    fn ask(&mut self, question: &impl Serialize) -> Result<Response> {
        let mut line = serde_json::to_vec(question)?;
        line.push(b'\n');
        let gone = "the emulator is gone";
        self.to.write_all(&line).context(gone)?;
        let mut answer = String::new();
        if self.from.read_line(&mut answer).context(gone)? == 0 {
            bail!(gone);
        }
        match serde_json::from_str(&answer).context("the emulator answers what nobody understands")? {
            Response::Error(error) => bail!(error),
            response => Ok(response),
        }
    }
}
