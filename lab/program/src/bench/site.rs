//! Where the programs of one link run: hosts that are emulated, or hosts that are there.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::benchmark::Benchmark;
use super::conditions;
use super::emulated_link::{Emulated, EmulationSetup};
use super::link::Link;
use super::plan::{Network, Plan};
use super::programs::Folders;
use crate::lab::{Lab, launch};
use crate::mpi::interposer::PRELOAD;
use crate::mpi::stacks::{Hosts, Invocation, Job, Stack};
use crate::record;
use crate::storage::{Asked, STORAGE};
use crate::system::{private_folder, programs};

/// Where programs run.
pub enum Site {
    /// Hosts and rails made for one link.
    Emulated(Box<Emulated>),
    /// A network as it is.
    Real(Real),
}

/// A program to run.
pub struct Work {
    pub ranks: u32,
    /// How many of them each host has; empty: as many as others.
    pub ranks_by_host: Vec<u32>,
    pub variables: Vec<(String, String)>,
    /// Its words.
    pub program: Vec<String>,
    /// Where it is to start, if that matters.
    pub folder: Option<PathBuf>,
}

/// Hosts that are there.
pub struct Real {
    network: Network,
    scratch: PathBuf,
}

impl Site {
    /// Makes the hosts and rails of a link, which are measured unless they are known from before.
    ///
    /// # Errors
    /// Also without a setup, which there is in namespaces only.
    pub fn emulate(
        plan: &Plan,
        link: &Link,
        setup: Option<&EmulationSetup>,
        known: Option<&record::Link>,
    ) -> Result<Site> {
        let setup = setup.context("links are emulated in namespaces only")?.clone();
        let emulated = match known {
            Some(known) => Emulated::again(plan, link, setup, known.clone())?,
            None => Emulated::build(plan, link, setup)?,
        };
        Ok(Site::Emulated(Box::new(emulated)))
    }

    /// Folder for outputs and counters of a program, which all hosts can write to.
    pub fn folder(&self) -> &Path {
        match self {
            Site::Emulated(emulated) => emulated.folder(),
            Site::Real(real) => &real.scratch,
        }
    }

    /// How `stack` runs `benchmark`, with its programs in these folders. With counters if they go to `counters`.
    pub fn invocation(
        &self,
        stack: &Stack,
        programs: &Folders,
        benchmark: &Benchmark,
        checked: bool,
        counters: Option<&Path>,
    ) -> Result<Invocation> {
        let mut words = self.program(stack, programs, benchmark);
        words.extend(benchmark.arguments(checked));
        let variables = counters.map(counting).into_iter().collect();
        let ranks_by_host = benchmark.ranks_by_host.clone();
        self.run(stack, Work { ranks: benchmark.ranks, ranks_by_host, variables, program: words, folder: None })
    }

    /// How `stack` runs any program here.
    pub fn run(&self, stack: &Stack, work: Work) -> Result<Invocation> {
        let Work { ranks, ranks_by_host, mut variables, program, folder } = work;
        let storage = self.storage_variables();
        let program = preloading(&storage, program);
        variables.extend(storage.into_iter().filter(|(name, _)| name != PRELOAD));
        let hosts = self.hosts(ranks, ranks_by_host);
        let machines = if hosts.remote_shell.is_some() { 1 } else { hosts.names.len().max(1) as u32 };
        stack.run(&Job {
            ranks: ranks as usize,
            hosts,
            rails: self.rails(),
            oversubscribed: ranks.div_ceil(machines) > conditions::cores(),
            variables,
            program,
            folder,
            ..Job::default()
        })
    }

    /// A command that runs this on the first host.
    pub fn command(&self, invocation: &Invocation) -> Result<Command> {
        let line: Vec<OsString> = invocation.line.iter().map(Into::into).collect();
        let mut command = match self {
            Site::Emulated(emulated) => emulated.command(&line),
            Site::Real(_) => tied(&line)?,
        };
        invocation.prepare(&mut command);
        if let Site::Emulated(emulated) = self {
            launch::apply(&mut command, emulated.environment());
        }
        Ok(command)
    }

    /// What the link is, asked and measured.
    pub fn link(&self) -> record::Link {
        match self {
            Site::Emulated(emulated) => emulated.measured().clone(),
            Site::Real(real) => {
                let rail = |name: &String| record::Rail { name: name.clone(), ..record::Rail::default() };
                let rails = real.network.rails.iter().map(rail).collect();
                let storage = real.network.storage.as_ref().map(Asked::recorded);
                record::Link { name: real.network.name.clone(), rails, emulator_cpu: None, storage }
            }
        }
    }

    /// The hosts and rails, where they are emulated.
    pub fn lab(&mut self) -> Option<&mut Lab> {
        match self {
            Site::Emulated(emulated) => Some(emulated.lab_mut()),
            Site::Real(_) => None,
        }
    }

    /// Part of a processor that the emulator took since this was last asked, if there is one.
    pub fn emulator_cpu(&mut self) -> Option<f64> {
        match self {
            Site::Emulated(emulated) => emulated.emulator_cpu(),
            Site::Real(_) => None,
        }
    }

    /// After a failure: ends what was left behind and makes what may be broken anew.
    pub fn renew(self, plan: &Plan) -> Result<Site> {
        match self {
            Site::Emulated(emulated) => Ok(Site::Emulated(Box::new(emulated.renew(plan)?))),
            real => Ok(real),
        }
    }

    /// Program and what must stand in front of its options.
    fn program(&self, stack: &Stack, programs: &Folders, benchmark: &Benchmark) -> Vec<String> {
        let word = |path: PathBuf| path.to_string_lossy().into_owned();
        match (self, benchmark.program.sockets_command()) {
            (Site::Emulated(emulated), Some(what)) if !stack.mpi => {
                vec![word(programs.bench.join("sockets")), what.to_string(), emulated.peer().to_string()]
            }
            _ if benchmark.program.is_app() => vec![word(programs.apps.join(benchmark.program.name()))],
            _ => vec![word(programs.bench.join(benchmark.program.name()))],
        }
    }

    /// Variables for programs that say where storage is.
    /// Whether programs have a place for files here.
    pub fn has_storage(&self) -> bool {
        !self.storage_variables().is_empty()
    }

    fn storage_variables(&self) -> Vec<(String, String)> {
        match self {
            Site::Emulated(emulated) => emulated.storage_variables().collect(),
            Site::Real(real) => {
                let folder = real.network.storage.as_ref().and_then(|storage| storage.folder.as_ref());
                folder.map(|folder| (STORAGE.to_string(), folder.to_string_lossy().into_owned())).into_iter().collect()
            }
        }
    }

    fn hosts(&self, ranks: u32, by_host: Vec<u32>) -> Hosts {
        match self {
            Site::Emulated(emulated) => emulated.hosts(ranks, by_host),
            Site::Real(real) => Hosts { names: real.network.hosts.clone(), ..Hosts::default() },
        }
    }

    fn rails(&self) -> Vec<String> {
        match self {
            Site::Emulated(emulated) => emulated.best_rails(),
            Site::Real(real) => real.network.rails.clone(),
        }
    }
}

impl Real {
    /// `record`: beside which the outputs of programs go while they run, since all hosts see that folder.
    pub fn new(network: &Network, record: &Path) -> Result<Real> {
        let mut scratch = crate::mpi::stacks::absolute(record)?.into_os_string();
        scratch.push(".running");
        let scratch = PathBuf::from(scratch);
        // What a run that was killed left there is worth nothing.
        let _ = fs::remove_dir_all(&scratch);
        private_folder::make_at(&scratch).with_context(|| format!("cannot make the folder {}", scratch.display()))?;
        Ok(Real { network: network.clone(), scratch })
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// `program` with the library that a storage wants in front, beside those that the stack preloads.
fn preloading(storage: &[(String, String)], program: Vec<String>) -> Vec<String> {
    let Some((_, library)) = storage.iter().find(|(name, _)| name == PRELOAD) else { return program };
    let library = programs::shell_quote(library);
    let script = format!("export {PRELOAD}={library}${{{PRELOAD}:+:${PRELOAD}}}; exec \"$@\"");
    ["/bin/sh".to_string(), "-c".into(), script, "sh".into()].into_iter().chain(program).collect()
}

/// What makes Fishplate count into a file.
pub fn counting(file: &Path) -> (String, String) {
    ("FISHPLATE_STATS".to_string(), file.to_string_lossy().into_owned())
}

/// `line`, told to end when this program does, even by `kill -9`.
fn tied(line: &[OsString]) -> Result<Command> {
    let mut command = Command::new(env::current_exe().context("cannot find this program's own file")?);
    command.arg("tie-to-parent").arg("--").args(line);
    Ok(command)
}
