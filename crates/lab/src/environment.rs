//! The environment in which an MPI program uses Fishplate.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use fishplate_rails::Settings;

use crate::hand_on;
use crate::interposer;
use crate::stacks::{self, Catalog, Stack};

/// File name by which libfabric finds the provider.
const PROVIDER: &str = "libfishplate-fi.so";
/// What cargo calls it.
const PROVIDER_OF_CARGO: &str = "libfishplate_fi.so";

/// Settings that can be given on the command line; each wins over its variable.
#[derive(clap::Args)]
pub struct Options {
    /// Interfaces (or their addresses) to use as rails [FISHPLATE_RAILS; default: found by themselves]
    #[arg(long, value_name = "NAME,...")]
    pub rails: Option<String>,

    /// TCP connections a rail and peer (auto: as many as needed) [FISHPLATE_STREAMS; default: auto]
    #[arg(long, value_name = "N|auto")]
    pub streams: Option<String>,

    /// How a long message is cut over the rails [FISHPLATE_STRIPING; default: earliest]
    #[arg(long, value_name = "POLICY")]
    pub striping: Option<String>,

    /// How whole messages are spread over the rails [FISHPLATE_MULTIPLEXING; default: earliest]
    #[arg(long, value_name = "POLICY")]
    pub multiplexing: Option<String>,

    /// Encrypt what passes over the rails: on or off, the same for all processes [FISHPLATE_ENCRYPTION; default: off]
    #[arg(long, value_name = "SWITCH", num_args = 0..=1, default_missing_value = "on")]
    pub encryption: Option<String>,

    /// Collective operations by clusters, or native: the MPI's own [FISHPLATE_COLLECTIVES; default: cluster]
    #[arg(long, value_name = "WAY")]
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
}

/// Variables to set, and what they mean.
pub struct Environment {
    /// Names and values.
    pub variables: Vec<(String, String)>,
    /// The settings that result.
    pub settings: Settings,
    /// The stack that was asked for.
    pub stack: Option<Stack>,
}

impl Environment {
    /// Words in front of a command line that shall run in it.
    pub fn prefix(&self) -> Vec<String> {
        self.stack.as_ref().map_or(Vec::new(), |stack| stack.source.prefix(&self.variables))
    }
}

/// What makes an MPI that uses libfabric load Fishplate: MPICH and Intel MPI by the first four, Open MPI by the others.
pub fn fishplate() -> Result<Vec<(String, String)>> {
    let pairs = [
        ("FI_PROVIDER_PATH", provider_path()?),
        ("FI_PROVIDER", "fishplate".into()),
        ("MPIR_CVAR_CH4_NETMOD", "ofi".into()),
        // Of a provider that it does not know Intel MPI expects no access to remote memory.
        ("MPIR_CVAR_CH4_OFI_ENABLE_RMA", "1".into()),
        ("OMPI_MCA_pml", "cm".into()),
        ("OMPI_MCA_mtl", "ofi".into()),
        ("OMPI_MCA_mtl_ofi_provider_include", "fishplate".into()),
    ];
    Ok(pairs.map(|(name, value)| (name.to_string(), value)).to_vec())
}

impl Options {
    /// Checks everything that can be checked here, and names the variables to set.
    pub fn environment(&self) -> Result<Environment> {
        let settings = self.settings()?;
        let stack = self.stack()?;
        let mut variables = match &stack {
            Some(stack) => stack.surroundings()?,
            None => fishplate()?,
        };
        for (name, _, value) in self.given() {
            if let Some(value) = value {
                let absolute = |value: &str| utf8(stacks::absolute(Path::new(value))?);
                let value = if name == "FISHPLATE_STATS" { absolute(value)? } else { value.clone() };
                variables.push((name.to_string(), value));
            }
        }
        variables.extend(interposer::variables(self.collectives.as_deref(), &provider_folder()?)?);
        let names = hand_on::names(&variables);
        variables.push((hand_on::LIST.to_string(), names));
        Ok(Environment { variables, settings, stack })
    }

    /// The stack that was asked for.
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

    fn given(&self) -> [(&'static str, &'static str, Option<&String>); 6] {
        [
            ("FISHPLATE_RAILS", "--rails", self.rails.as_ref()),
            ("FISHPLATE_STREAMS", "--streams", self.streams.as_ref()),
            ("FISHPLATE_STRIPING", "--striping", self.striping.as_ref()),
            ("FISHPLATE_MULTIPLEXING", "--multiplexing", self.multiplexing.as_ref()),
            ("FISHPLATE_ENCRYPTION", "--encryption", self.encryption.as_ref()),
            ("FISHPLATE_STATS", "--stats", self.stats.as_ref()),
        ]
    }
}

/// The folder of the provider, in front of what the user has there already.
fn provider_path() -> Result<String> {
    let ours = utf8(provider_folder()?)?;
    match env::var("FI_PROVIDER_PATH") {
        Ok(old) if !old.is_empty() && !old.split(':').any(|folder| folder == ours) => Ok(format!("{ours}:{old}")),
        Ok(old) if !old.is_empty() => Ok(old),
        _ => Ok(ours),
    }
}

/// The folder that holds the provider: where `make` and packages put it, or beside this program.
pub fn provider_folder() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find this program's own file")?;
    let beside = program.parent().context("this program's own file has no folder")?;
    let installed = beside.parent().unwrap_or(beside).join("lib/fishplate");
    if installed.join(PROVIDER).is_file() {
        return Ok(installed);
    }
    if !beside.join(PROVIDER).is_file() && beside.join(PROVIDER_OF_CARGO).is_file() {
        // A failure shows right below; someone else's link is as good.
        let _ = symlink(PROVIDER_OF_CARGO, beside.join(PROVIDER));
    }
    if beside.join(PROVIDER).is_file() {
        return Ok(beside.to_path_buf());
    }
    Err(anyhow!(
        "the provider {PROVIDER} is neither in {} nor in {}: `make` builds it and puts it there",
        installed.display(),
        beside.display()
    ))
}

fn utf8(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|path| anyhow!("the path {path:?} is not UTF-8"))
}
