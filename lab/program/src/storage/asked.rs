//! A storage with its options, as requested by the user.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::Uid;
use serde::{Deserialize, Serialize};

use super::description::{self, Description, Reach};
use super::packages;
use crate::record;

/// Default memory of each server, in mebibytes.
const USUAL_SIZE_MIB: u64 = 4096;
/// Device required by FUSE.
const FUSE: &str = "/dev/fuse";

/// A storage with options: `NAME[:servers=N][:size_mib=N][:mptcp]`, or `path:FOLDER`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Asked {
    pub described: Arc<Description>,
    /// Servers; nothing: as many as usual.
    servers: Option<usize>,
    /// Memory of each server; nothing: [`USUAL_SIZE_MIB`].
    size_mib: Option<u64>,
    /// Its connections take all rails, by multipath TCP.
    pub mptcp: bool,
    /// The folder, where that is the user's.
    pub folder: Option<PathBuf>,
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Asked, String> {
        Asked::parse(text).map_err(|error| format!("{error:#}"))
    }
}

impl Asked {
    fn parse(text: &str) -> Result<Asked> {
        let (name, options) = text.split_once(':').map_or((text, ""), |(name, options)| (name, options));
        let described = Arc::new(description::find(name)?);
        let is_folder = described.reach == Reach::Folder;
        let mut asked = Asked { described, servers: None, size_mib: None, mptcp: false, folder: None };
        if is_folder {
            ensure!(options.starts_with('/'), "\"{text}\": {name} takes an absolute folder, as in {name}:/mnt/scratch");
            asked.folder = Some(options.into());
            return Ok(asked);
        }
        for option in options.split(':').filter(|option| !option.is_empty()) {
            asked.take(option).with_context(|| format!("\"{text}\""))?;
        }
        asked.check().with_context(|| format!("\"{text}\""))?;
        Ok(asked)
    }

    fn take(&mut self, option: &str) -> Result<()> {
        let number = |value: &str| value.parse::<u64>().ok().filter(|number| (1..=1 << 20).contains(number));
        match option.split_once('=') {
            Some(("servers", value)) => {
                let servers = number(value).with_context(|| format!("servers={value}: a number from 1 on"))?;
                self.servers = Some(servers as usize);
            }
            Some(("size_mib", value)) => {
                self.size_mib =
                    Some(number(value).with_context(|| format!("size_mib={value}: a number from 1 to 1048576"))?);
            }
            None if option == "mptcp" => self.mptcp = true,
            _ => bail!("no option {option}; allowed: servers=N, size_mib=N, mptcp"),
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let Description { name, servers, .. } = &*self.described;
        if servers.most == 0 {
            ensure!(self.servers.is_none() && !self.mptcp, "{name} has no servers, and uses no network");
            return Ok(());
        }
        let asked = self.servers();
        let allowed = if servers.most == servers.least {
            format!("{}", servers.most)
        } else {
            format!("{} to {}", servers.least, servers.most)
        };
        ensure!((servers.least..=servers.most).contains(&asked), "{name} has {allowed} servers, not {asked}");
        Ok(())
    }

    /// How many hosts of a lab serve it: the last ones.
    pub fn servers(&self) -> usize {
        self.servers.unwrap_or(self.described.usual_servers())
    }

    /// Memory of each server.
    pub fn size_mib(&self) -> u64 {
        self.size_mib.unwrap_or(USUAL_SIZE_MIB)
    }

    /// Description for a record.
    pub fn recorded(&self) -> record::Storage {
        record::Storage {
            name: self.to_string(),
            title: self.described.title.clone(),
            version: packages::version(&self.described).unwrap_or_default(),
            servers: self.servers() as u32,
        }
    }

    /// Checks the number of hosts. The error contains the required number.
    pub fn check_hosts(&self, hosts: usize) -> Result<()> {
        let (name, servers) = (&self.described.name, self.servers());
        ensure!(
            hosts > servers,
            "storage {name}: {servers} servers and at least one client are {} hosts, and there are {hosts}",
            servers + 1
        );
        Ok(())
    }

    /// Checks the prerequisites on this machine. The error describes the missing one.
    ///
    /// # Errors
    /// With what to do.
    pub fn check_ready(&self) -> Result<()> {
        let described = &self.described;
        let name = &described.name;
        if let Some(folder) = &self.folder {
            ensure!(folder.is_dir(), "storage {self}: {} is no folder", folder.display());
        }
        if let Some(why) = described.root.as_ref().filter(|_| !Uid::effective().is_root()) {
            bail!("storage {name} needs root: {why}; moosefs, tmpfs and path do not");
        }
        packages::check(described)?;
        if described.reach == Reach::Mount {
            let missing = || {
                format!(
                    "storage {name}: {FUSE} cannot be opened: load the module fuse (modprobe fuse), or take a storage without it (nfs, tmpfs, path)"
                )
            };
            std::fs::OpenOptions::new().read(true).write(true).open(Path::new(FUSE)).with_context(missing)?;
        }
        Ok(())
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described.name)?;
        if let Some(folder) = &self.folder {
            write!(f, ":{}", folder.display())?;
        }
        if let Some(servers) = self.servers {
            write!(f, ":servers={servers}")?;
        }
        if let Some(size) = self.size_mib {
            write!(f, ":size_mib={size}")?;
        }
        f.write_str(if self.mptcp { ":mptcp" } else { "" })
    }
}

impl TryFrom<String> for Asked {
    type Error = String;

    fn try_from(text: String) -> Result<Asked, String> {
        text.parse()
    }
}

impl From<Asked> for String {
    fn from(asked: Asked) -> String {
        asked.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_shown() {
        for text in ["tmpfs", "nfs", "nfs:size_mib=64:mptcp", "glusterfs:servers=4", "path:/mnt/a:b"] {
            assert_eq!(text.parse::<Asked>().unwrap().to_string(), text);
        }
        assert_eq!("glusterfs".parse::<Asked>().unwrap().servers(), 2);
        assert_eq!("tmpfs".parse::<Asked>().unwrap().servers(), 0);
    }

    #[test]
    fn servers_need_a_client() {
        let few = "nfs".parse::<Asked>().unwrap().check_hosts(1).unwrap_err().to_string();
        assert_eq!(few, "storage nfs: 1 servers and at least one client are 2 hosts, and there are 1");
    }
}
