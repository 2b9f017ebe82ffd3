//! The environment in which an MPI program uses Fishplate.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use fishplate_profile::notes;
use fishplate_rails::Settings;

use super::forwarded_variables;
use super::interposer;
use super::provider_library::{fishplate, provider_folder, utf8};
use super::stacks::{self, Catalog, Stack};

/// Settings that can be given on the command line; each wins over its variable.
#[derive(clap::Args)]
pub struct Options {
    /// Interfaces (or their addresses) to use as rails [FISHPLATE_RAILS; default: found automatically]
    #[arg(long, value_name = "NAME,...")]
    pub rails: Option<String>,

    /// TCP connections for each rail and peer (auto: by need) [FISHPLATE_STREAMS; default: auto]
    #[arg(long, value_name = "N|auto")]
    pub streams: Option<String>,

    /// Policy that cuts a long message over the rails [FISHPLATE_STRIPING; default: earliest]
    #[arg(long, value_name = "POLICY")]
    pub striping: Option<String>,

    /// Policy that spreads whole messages over the rails [FISHPLATE_MULTIPLEXING; default: earliest]
    #[arg(long, value_name = "POLICY")]
    pub multiplexing: Option<String>,

    /// Encrypt traffic over the rails: on or off, equal for all processes [FISHPLATE_ENCRYPTION; default: off]
    #[arg(long, value_name = "SWITCH", num_args = 0..=1, default_missing_value = "on")]
    pub encryption: Option<String>,

    /// Checksums of all frames: on or off, equal for all processes [FISHPLATE_CHECKSUM; default: off]
    #[arg(long, value_name = "SWITCH", num_args = 0..=1, default_missing_value = "on")]
    pub checksum: Option<String>,

    /// File with a secret that connections need, equal for all processes [FISHPLATE_SECRET_FILE; default: none]
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<String>,

    /// Collective operations by clusters, or native: the MPI's own [FISHPLATE_COLLECTIVES; default: cluster]
    #[arg(long, value_name = "ALGORITHM")]
    pub collectives: Option<String>,

    /// File to which every process appends its per-rail counters [FISHPLATE_STATS; default: none]
    #[arg(long, value_name = "FILE")]
    pub stats: Option<String>,

    /// Use this stack's programs and settings (`fishplate stacks` lists them)
    #[arg(long, value_name = "STACK")]
    pub mpi: Option<String>,

    /// File, or folder of files, that describes stacks of your own (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub stacks: Vec<PathBuf>,

    /// Folder for notes of processes (`fishplate_profile::notes`).
    #[arg(skip)]
    pub notes: Option<PathBuf>,
}

/// Variables to set, and the settings that result.
pub struct Environment {
    pub variables: Vec<(String, String)>,
    /// The settings that result.
    pub settings: Settings,
    /// The stack of `--mpi`.
    pub stack: Option<Stack>,
}

impl Options {
    /// Checks everything that can be checked here, and names the variables to set.
    pub fn environment(&self) -> Result<Environment> {
        let settings = self.settings()?;
        let stack = self.stack()?;
        let mut variables = match &stack {
            Some(stack) => stack.environment_variables()?,
            None => fishplate()?,
        };
        for (name, _, value) in self.given() {
            if let Some(value) = value {
                let absolute = |value: &str| utf8(stacks::absolute(Path::new(value))?);
                let value = if name == "FISHPLATE_STATS" { absolute(value)? } else { value.clone() };
                variables.push((name.to_string(), value));
            }
        }
        let notes = self.notes.clone().map(utf8).transpose()?;
        variables.extend(notes.map(|folder| (notes::VARIABLE.to_string(), folder)));
        variables.extend(interposer::variables(self.collectives.as_deref(), &variables, &provider_folder()?)?);
        let names = forwarded_variables::names(&variables);
        variables.push((forwarded_variables::LIST.to_string(), names));
        Ok(Environment { variables, settings, stack })
    }

    /// The stack of `--mpi`.
    fn stack(&self) -> Result<Option<Stack>> {
        let find = |name: &String| Catalog::load(&self.stacks)?.find_with_fishplate(name);
        self.mpi.as_ref().map(find).transpose()
    }

    fn settings(&self) -> Result<Settings> {
        let given = self.given();
        let find = |asked: &str| given.iter().find(|(name, _, _)| *name == asked).and_then(|(_, _, value)| *value);
        let lookup = |name: &'static str| {
            find(name).cloned().or_else(|| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
        };
        Settings::from_lookup(lookup).map_err(|error| {
            let option = given.iter().find(|(name, _, value)| *name == error.name && value.is_some());
            match option {
                Some((_, option, _)) => anyhow!("{option}: {error}"),
                None => anyhow!("{error}"),
            }
        })
    }

    fn given(&self) -> [(&'static str, &'static str, Option<&String>); 8] {
        [
            ("FISHPLATE_RAILS", "--rails", self.rails.as_ref()),
            ("FISHPLATE_STREAMS", "--streams", self.streams.as_ref()),
            ("FISHPLATE_STRIPING", "--striping", self.striping.as_ref()),
            ("FISHPLATE_MULTIPLEXING", "--multiplexing", self.multiplexing.as_ref()),
            ("FISHPLATE_ENCRYPTION", "--encryption", self.encryption.as_ref()),
            ("FISHPLATE_CHECKSUM", "--checksum", self.checksum.as_ref()),
            ("FISHPLATE_SECRET_FILE", "--secret-file", self.secret_file.as_ref()),
            ("FISHPLATE_STATS", "--stats", self.stats.as_ref()),
        ]
    }
}
