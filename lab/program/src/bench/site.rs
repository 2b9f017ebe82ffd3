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
use crate::testbed::rail_name;

/// Where programs run: hosts and rails made for one link, or a network as it is.
pub struct Site {
    /// What the link is, asked and measured.
    link: record::Link,
    /// Interfaces that stacks are told, the best first.
    rails: Vec<String>,
    /// Variables for programs that say where storage is.
    storage: Vec<(String, String)>,
    place: Place,
}

enum Place {
    Emulated(Box<Emulated>),
    /// Hosts that are there, and a folder for them.
    Real(Vec<String>, Scratch),
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

/// A folder, until it is dropped.
struct Scratch(PathBuf);

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
        let mut emulated = Emulated::start(plan, link, setup)?;
        let measured = known.map_or_else(|| emulated.measure(), |known| Ok(known.clone()))?;
        let storage = emulated.lab.storage().into_iter().flat_map(|storage| storage.variables());
        let storage = storage.map(|(name, value)| (name.clone(), value.to_string_lossy().into_owned()));
        Ok(Site {
            link: measured,
            rails: link.best_first().into_iter().map(rail_name).collect(),
            storage: storage.collect(),
            place: Place::Emulated(Box::new(emulated)),
        })
    }

    /// A network that is there. `record`: beside which the outputs of programs go while they run, since all hosts see that
    /// folder.
    pub fn real(network: &Network, record: &Path) -> Result<Site> {
        let mut folder = crate::mpi::stacks::absolute(record)?.into_os_string();
        folder.push(".running");
        let folder = PathBuf::from(folder);
        // What a run that was killed left there is worth nothing.
        let _ = fs::remove_dir_all(&folder);
        private_folder::make_at(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let rail = |name: &String| record::Rail { name: name.clone(), ..record::Rail::default() };
        let storage = network.storage.as_ref();
        let place = storage.and_then(|storage| storage.folder.as_ref());
        Ok(Site {
            link: record::Link {
                name: network.name.clone(),
                rails: network.rails.iter().map(rail).collect(),
                emulator_cpu: None,
                storage: storage.map(Asked::recorded),
            },
            rails: network.rails.clone(),
            storage: place
                .map(|place| (STORAGE.to_string(), place.to_string_lossy().into_owned()))
                .into_iter()
                .collect(),
            place: Place::Real(network.hosts.clone(), Scratch(folder)),
        })
    }

    /// Folder for outputs and counters of a program, which all hosts can write to.
    pub fn folder(&self) -> &Path {
        match &self.place {
            Place::Emulated(emulated) => emulated.lab.folder(),
            Place::Real(_, scratch) => &scratch.0,
        }
    }

    /// What the link is, asked and measured.
    pub fn link(&self) -> &record::Link {
        &self.link
    }

    /// Whether programs have a place for files here.
    pub fn has_storage(&self) -> bool {
        !self.storage.is_empty()
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
        let program = preloading(&self.storage, program);
        variables.extend(self.storage.iter().filter(|(name, _)| name != PRELOAD).cloned());
        let hosts = match &self.place {
            Place::Emulated(emulated) => emulated.hosts(ranks, ranks_by_host),
            Place::Real(names, _) => Hosts { names: names.clone(), ..Hosts::default() },
        };
        let machines = if hosts.remote_shell.is_some() { 1 } else { hosts.names.len().max(1) as u32 };
        stack.run(&Job {
            ranks: ranks as usize,
            hosts,
            rails: self.rails.clone(),
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
        let mut command = match &self.place {
            Place::Emulated(emulated) => emulated.lab.command(0, &line),
            Place::Real(..) => tied(&line)?,
        };
        invocation.prepare(&mut command);
        if let Place::Emulated(emulated) = &self.place {
            launch::apply(&mut command, emulated.environment.iter().cloned());
        }
        Ok(command)
    }

    /// The hosts and rails, where they are emulated.
    pub fn lab(&mut self) -> Option<&mut Lab> {
        match &mut self.place {
            Place::Emulated(emulated) => Some(&mut emulated.lab),
            Place::Real(..) => None,
        }
    }

    /// Part of a processor that the emulator took since this was last asked, if there is one.
    pub fn emulator_cpu(&mut self) -> Option<f64> {
        self.lab().and_then(Lab::emulator_cpu)
    }

    /// After a failure: ends what was left behind and makes what may be broken anew.
    pub fn renew(self, plan: &Plan) -> Result<Site> {
        let Place::Emulated(emulated) = &self.place else { return Ok(self) };
        let (link, setup, measured) = (emulated.asked.clone(), emulated.setup.clone(), self.link.clone());
        drop(self);
        Site::emulate(plan, &link, Some(&setup), Some(&measured))
    }

    /// Program and what must stand in front of its options.
    fn program(&self, stack: &Stack, programs: &Folders, benchmark: &Benchmark) -> Vec<String> {
        let word = |path: PathBuf| path.to_string_lossy().into_owned();
        match (&self.place, benchmark.program.sockets_command()) {
            (Place::Emulated(emulated), Some(what)) if !stack.mpi => {
                vec![word(programs.bench.join("sockets")), what.to_string(), emulated.peer().to_string()]
            }
            _ if benchmark.program.is_app() => vec![word(programs.apps.join(benchmark.program.name()))],
            _ => vec![word(programs.bench.join(benchmark.program.name()))],
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _ = fs::remove_dir_all(&self.0);
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
