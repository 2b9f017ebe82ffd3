//! A storage that runs on hosts of a lab.

use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::mount::{MntFlags, umount2};

use super::asked::Asked;
use super::description::{Place, Process, Reach, Ready};
use super::packages;
use super::process::{self, Surroundings};
use super::started::Started;
use super::template::Words;
use crate::mpi::interposer::PRELOAD;
use crate::testbed::host::Host;
use crate::testbed::multipath;

/// Variable with the place of the storage for programs: a folder, or a URL.
pub const STORAGE: &str = "FISHPLATE_STORAGE";
/// Variable with the names of the hosts that serve it.
const SERVERS: &str = "FISHPLATE_STORAGE_SERVERS";

/// Its mount point, in the folder of a lab.
const MOUNT: &str = "storage";
/// Its processes' folders in memory, in the folder of a lab.
const WORK: &str = "storage-work";
/// Output of its processes, likewise.
const LOGS: &str = "storage-logs";

/// The hosts of a lab.
pub struct Hosts<'a> {
    /// All of them; the last ones are servers.
    pub all: &'a [Host],
    /// How many rails they have.
    pub rails: usize,
    /// The lab's folder.
    pub folder: &'a Path,
}

/// A storage, until it is dropped.
pub struct Storage {
    asked: Asked,
    variables: Vec<(String, OsString)>,
    processes: Vec<Started>,
    /// Mounts in the namespace of this program, to be unmounted at the end.
    memory: Option<PathBuf>,
}

impl Storage {
    /// Preparation before the hosts are created, which inherit it.
    pub fn prepare(asked: &Asked, folder: &Path) -> Result<Storage> {
        asked.check_ready()?;
        let mount = folder.join(MOUNT);
        for name in [MOUNT, WORK, LOGS] {
            let folder = folder.join(name);
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let memory = (asked.described.reach == Reach::Memory).then_some(mount);
        if let Some(memory) = &memory {
            process::mount_memory(memory, asked.size_mib())?;
        }
        Ok(Storage { asked: asked.clone(), variables: Vec::new(), processes: Vec::new(), memory })
    }

    /// Starts it on its hosts.
    ///
    /// # Errors
    /// With the output of a process that did not start.
    pub fn start(&mut self, hosts: &Hosts) -> Result<()> {
        let clients = hosts.all.len() - self.asked.servers();
        if self.asked.mptcp {
            let mut roles =
                hosts.all.iter().enumerate().map(|(at, host)| (host, if at < clients { "subflow" } else { "signal" }));
            roles.try_for_each(|(host, role)| multipath::use_all_rails(host, hosts.rails, role))?;
        }
        let described = self.asked.described.clone();
        let about = || format!("storage {}", described.name);
        for process in &described.processes {
            let from = self.processes.len();
            for at in places(process.on, clients, hosts.all.len()) {
                let started = self.start_process(process, hosts, at)?;
                self.processes.push(started);
            }
            let limit = Duration::from_secs_f64(process.limit_s);
            self.processes[from..].iter_mut().try_for_each(|started| started.await_ready(limit)).with_context(about)?;
        }
        self.variables = self.variables_for(hosts, clients)?;
        let failures = self.failures();
        ensure!(failures.is_empty(), "{}", failures.join("; "));
        Ok(())
    }

    fn start_process(&self, process: &Process, hosts: &Hosts, at: usize) -> Result<Started> {
        let host = &hosts.all[at];
        let words = self.words(hosts, at)?;
        let surroundings = Surroundings {
            packages: words.packages.clone(),
            work: words.work.clone(),
            size_mib: self.asked.size_mib(),
            folders: process.folders.iter().map(|folder| words.fill(folder).into()).collect(),
            files: process.files.iter().map(|file| words.file(file)).collect(),
            mounts: (process.ready == Ready::Mounted).then(|| words.mount.clone()),
        };
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let surroundings = serde_json::to_string(&surroundings)?;
        let mut line: Vec<OsString> = vec![program.into(), "storage-process".into(), surroundings.into(), "--".into()];
        line.extend(process.command.iter().map(|word| OsString::from(words.fill(word))));
        let mut command = host.command(&line);
        if self.asked.mptcp {
            command.env(PRELOAD, words.packages.join(packages::MULTIPATH));
        }
        let log = hosts.folder.join(LOGS).join(format!("{}-{}", process.name, host.name));
        let name = format!("{} on {}", process.name, host.name);
        Started::start(name, command, log, process.ready.clone(), &words.mount, host.proc_id())
    }

    fn words(&self, hosts: &Hosts, at: usize) -> Result<Words> {
        let address = |host: &Host| host.rail_address(0).to_string();
        let servers = &hosts.all[hosts.all.len() - self.asked.servers()..];
        Ok(Words {
            packages: packages::folder(&self.asked.described)?,
            work: hosts.folder.join(WORK),
            mount: hosts.folder.join(MOUNT),
            address: address(&hosts.all[at]),
            servers: servers.iter().map(|host| (host.name.clone(), address(host))).collect(),
        })
    }

    fn variables_for(&self, hosts: &Hosts, clients: usize) -> Result<Vec<(String, OsString)>> {
        let (words, described) = (self.words(hosts, 0)?, &self.asked.described);
        let place = match &described.reach {
            Reach::Memory | Reach::Mount => words.mount.clone().into_os_string(),
            Reach::Folder => self.asked.folder.clone().unwrap_or_default().into_os_string(),
            Reach::Url(url) => words.fill(url).into(),
        };
        let servers: Vec<&str> = hosts.all[clients..].iter().map(|host| host.name.as_str()).collect();
        let mut variables = vec![(STORAGE.to_string(), place), (SERVERS.to_string(), servers.join(",").into())];
        variables.extend(described.variables.iter().map(|(name, text)| (name.clone(), words.fill(text).into())));
        // Programs that reach it by a library have its connections themselves.
        if self.asked.mptcp && matches!(described.reach, Reach::Url(_)) {
            variables.push((PRELOAD.to_string(), words.packages.join(packages::MULTIPATH).into()));
        }
        Ok(variables)
    }

    /// Description and location, for people.
    pub fn shown(&self) -> String {
        let place =
            self.variables.iter().find(|(name, _)| name == STORAGE).map(|(_, place)| place.display().to_string());
        format!("{} at {}", self.asked, place.unwrap_or_default())
    }

    /// Environment variables for programs.
    pub fn variables(&self) -> &[(String, OsString)] {
        &self.variables
    }

    /// Processes that ended unexpectedly, with their output.
    pub fn failures(&mut self) -> Vec<String> {
        let failures = self.processes.iter_mut().filter_map(Started::failure);
        failures.map(|failure| format!("storage {}: {failure}", self.asked.described.name)).collect()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // Clients before servers, for which they would wait.
        self.processes.iter_mut().rev().for_each(Started::end);
        if let Some(memory) = &self.memory {
            // The kernel does it with the namespace, if it is not done now.
            let _ = umount2(memory, MntFlags::MNT_DETACH);
        }
    }
}

/// Numbers of the hosts that are meant.
fn places(place: Place, clients: usize, hosts: usize) -> Range<usize> {
    match place {
        Place::Clients => 0..clients,
        Place::FirstClient => 0..1,
        Place::Servers => clients..hosts,
        Place::FirstServer => clients..clients + 1,
    }
}
