//! Descriptions of storages: from TOML files of this program or of the user.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::descriptions;
use crate::mpi::stacks::own_folder;
use crate::output::nearest::nearest;

/// Storages that come with the program.
const BUILT_IN: [(&str, &str); 6] = [
    ("tmpfs", include_str!("../../storages/tmpfs.toml")),
    ("nfs", include_str!("../../storages/nfs.toml")),
    ("nfs3", include_str!("../../storages/nfs3.toml")),
    ("glusterfs", include_str!("../../storages/glusterfs.toml")),
    ("moosefs", include_str!("../../storages/moosefs.toml")),
    ("path", include_str!("../../storages/path.toml")),
];

/// Seconds that a process may take to be ready.
const USUAL_LIMIT_S: f64 = 20.0;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Name in commands.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    /// How programs reach it.
    pub reach: Reach,
    /// Debian's packages that it consists of, the first of which has its version.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Under which conditions they may be used.
    #[serde(default)]
    pub licence: String,
    /// Why only root can have it, where that is so.
    pub root: Option<String>,
    /// How many hosts can be its servers.
    #[serde(default)]
    pub servers: Servers,
    /// Variables for programs.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Its processes, in the order of starting.
    #[serde(default, rename = "process")]
    pub processes: Vec<Process>,
}

/// How programs reach a storage.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// A folder in memory that all hosts share.
    Memory,
    /// A folder that the user names.
    Folder,
    /// A folder that a process on each client mounts.
    Mount,
    /// An address that programs understand.
    Url(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    pub least: usize,
    pub most: usize,
    /// Default number; absent: the minimum.
    pub usual: Option<usize>,
}

/// Something that runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub name: String,
    pub on: Place,
    /// Folders that it needs, in its own folder in memory.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Files that it needs, likewise.
    #[serde(default)]
    pub files: Vec<File>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// How it is seen to be ready.
    pub ready: Ready,
    /// Seconds until then, at most.
    #[serde(default = "usual_limit")]
    pub limit_s: f64,
}

/// Which hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Place {
    #[serde(rename = "servers")]
    Servers,
    #[serde(rename = "first server")]
    FirstServer,
    #[serde(rename = "clients")]
    Clients,
    #[serde(rename = "first client")]
    FirstClient,
}

/// A file: `text`, then `each_server` once for each server, then `after`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub path: String,
    /// Its beginning.
    #[serde(default)]
    pub text: String,
    /// Files and options for each server.
    #[serde(default)]
    pub each_server: String,
    /// Its end.
    #[serde(default)]
    pub after: String,
}

/// How a process is seen to be ready.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// A process listens at this TCP port of its host.
    Port(u16),
    /// A line of its output.
    Says(String),
    /// The storage is mounted on its host.
    Mounted,
    /// It has ended well.
    Ended,
}

fn usual_limit() -> f64 {
    USUAL_LIMIT_S
}

/// All of them: the built-in ones, then the user's own, each of which takes the place of a built-in one with its name.
///
/// # Errors
/// With the file that is wrong, and what in it.
pub fn all() -> Result<Vec<Description>> {
    let built_in = BUILT_IN.map(|(name, text)| parse(name, text, &format!("{name}.toml")));
    let mut all = built_in.into_iter().collect::<Result<Vec<_>>>()?;
    let own = own_folder("storages").map_or(Ok(Vec::new()), |folder| descriptions::files(&folder))?;
    for file in own {
        let shown = file.display().to_string();
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {shown}"))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let described = parse(&name, &text, &shown)?;
        all.retain(|known| known.name != described.name);
        all.push(described);
    }
    Ok(all)
}

/// The storage called `name`.
///
/// # Errors
/// With the name that was probably meant, and all that there are.
pub fn find(name: &str) -> Result<Description> {
    let all = all()?;
    if let Some(found) = all.iter().find(|known| known.name == name) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
    match nearest(name, names.iter().copied()) {
        Some(meant) => bail!("no storage \"{name}\" (did you mean {meant}?); there are {}", names.join(", ")),
        None => bail!("no storage \"{name}\"; there are {}", names.join(", ")),
    }
}

fn parse(name: &str, text: &str, file: &str) -> Result<Description> {
    let described = Description { name: name.to_string(), ..descriptions::parse(text, file)? };
    described.check().with_context(|| file.to_string())?;
    Ok(described)
}

impl Description {
    /// Default number of servers.
    pub fn usual_servers(&self) -> usize {
        self.servers.usual.unwrap_or(self.servers.least)
    }

    /// Command that installs it.
    pub fn how_to_get(&self) -> String {
        format!("fishplate setup --storage {}", self.name)
    }

    fn check(&self) -> Result<()> {
        let Servers { least, most, .. } = self.servers;
        ensure!((least..=most).contains(&self.usual_servers()), "`servers`: usual is between least and most");
        let mounted = self.processes.iter().any(|process| process.ready == Ready::Mounted);
        ensure!(
            (self.reach == Reach::Mount) == mounted,
            "`reach = \"mount\"` goes with a process that is ready when mounted"
        );
        for process in &self.processes {
            let name = &process.name;
            ensure!(!process.command.is_empty(), "process {name}: `command` is empty");
            ensure!(
                process.limit_s > 0.0 && process.limit_s <= 3600.0,
                "process {name}: `limit_s` is above 0, at most 3600"
            );
            ensure!(least > 0, "process {name}: `servers` has at least 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_come_with_the_program_are_sound() {
        for (name, text) in BUILT_IN {
            parse(name, text, name).unwrap();
        }
    }

    #[test]
    fn mistakes_are_reported_with_file_and_line() {
        let error = |text: &str| format!("{:#}", parse("mine", text, "mine.toml").unwrap_err());
        assert!(error("title = \"x\"\nreech = \"mount\"").starts_with("mine.toml, line 2: unknown field `reech`"));
        assert!(error("title = \"x\"\nreach = \"mount\"").contains("goes with a process that is ready when mounted"));
        let process = "title = \"x\"\nreach = \"memory\"\nservers = { least = 1, most = 2, usual = 3 }\n";
        assert!(error(process).contains("usual is between least and most"));
        assert!(format!("{:#}", find("gluster").unwrap_err()).contains("did you mean glusterfs?"));
    }
}
