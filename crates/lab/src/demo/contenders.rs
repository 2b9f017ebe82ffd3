//! The stacks that take turns, each at its best settings.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::RAILS_MBIT;
use crate::environment;
use crate::stacks::Stack;
use crate::testbed::{rail_name, rail_names};
use crate::tools;

/// Name of the product among the contenders.
pub const FISHPLATE: &str = "Fishplate";

/// Variables that would make a stack behave otherwise than meant here begin so.
const FOREIGN: [&str; 10] =
    ["FI_", "UCX_", "OMPI_", "PMIX_", "PRTE_", "MPIR_", "MPICH_", "HYDRA_", "PMI_", "FISHPLATE_"];

/// A stack with settings.
pub struct Contender {
    /// Name.
    pub name: &'static str,
    /// Which rails it is given.
    pub rails: &'static str,
    /// Whether its settings tell it the rates of the rails, which nobody else knows.
    pub told: bool,
    /// Whose programs it runs.
    pub stack: Stack,
    /// Environment that matters.
    pub variables: Vec<(String, String)>,
    /// Options of mpiexec.
    options: Vec<String>,
}

/// All of them, in the order of their turns. `rails` is their number.
pub fn all(rails: usize) -> Result<Vec<Contender>> {
    let names = rail_names(rails);
    let text = |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let provider = environment::provider_folder()?;
    let open_mpi = ["--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"];
    let open_mpi: Vec<String> =
        open_mpi.into_iter().chain(["--mca", "btl_tcp_if_include", &names]).map(String::from).collect();
    // It weighs rails by the speeds that their drivers report, which virtual ones do not.
    let rates = RAILS_MBIT.iter().enumerate().flat_map(|(rail, mbit)| {
        ["--mca".to_string(), format!("btl_tcp_bandwidth_{}", rail_name(rail)), mbit.to_string()]
    });
    Ok(vec![
        Contender {
            name: "MPICH, libfabric tcp",
            rails: "best rail",
            told: false,
            stack: Stack::Mpich,
            variables: text(&[("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", "r0")]),
            options: Vec::new(),
        },
        Contender {
            name: "MPICH, UCX",
            rails: "both rails",
            told: false,
            stack: Stack::Mpich,
            variables: text(&[
                ("MPIR_CVAR_CH4_NETMOD", "ucx"),
                ("UCX_TLS", "tcp,self"),
                ("UCX_NET_DEVICES", &names),
                ("UCX_MAX_EAGER_RAILS", "2"),
                ("UCX_MAX_RNDV_RAILS", "2"),
            ]),
            options: Vec::new(),
        },
        Contender {
            name: "Open MPI, tcp",
            rails: "both rails",
            told: false,
            stack: Stack::OpenMpi,
            variables: Vec::new(),
            options: open_mpi.clone(),
        },
        Contender {
            name: "Open MPI, rates by hand",
            rails: "both rails, told each rate",
            told: true,
            stack: Stack::OpenMpi,
            variables: Vec::new(),
            options: open_mpi.into_iter().chain(rates).collect(),
        },
        Contender {
            name: FISHPLATE,
            rails: "both rails, found by itself",
            told: false,
            stack: Stack::Mpich,
            variables: text(&[
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("FI_PROVIDER", "fishplate"),
                ("FI_PROVIDER_PATH", &provider.to_string_lossy()),
            ]),
            options: Vec::new(),
        },
    ])
}

impl Contender {
    /// `mpiexec` with this stack's options and then `program`.
    pub fn line(&self, program: &[String]) -> Result<Vec<String>> {
        let mpiexec = self.stack.programs()?.join("mpiexec");
        let start = [mpiexec.to_string_lossy().into_owned(), "-n".into(), "2".into()];
        Ok(start.into_iter().chain(self.options.iter().cloned()).chain(program.iter().cloned()).collect())
    }

    /// Gives `command` this stack's environment and nothing that the user set for other purposes.
    pub fn prepare(&self, command: &mut Command) {
        for (name, _) in env::vars_os() {
            if FOREIGN.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// The same as something to type, short.
    pub fn shown(&self, program: &str) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", tools::shell_quote(value)));
        let options = self.options.iter().map(|option| tools::shell_quote(option));
        let mut words: Vec<String> = variables.collect();
        words.extend(["mpiexec".into(), "-n".into(), "2".into()]);
        words.extend(options);
        words.push(program.into());
        words.join(" ")
    }
}

/// The folder with the benchmark programs, one folder a stack in it.
pub fn bench_folder(given: Option<&Path>) -> Result<PathBuf> {
    let folder = match given {
        Some(given) => given.to_path_buf(),
        None => {
            let program = env::current_exe()?;
            let build = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
            build.join("bench")
        }
    };
    for stack in Stack::ALL {
        for name in ["latency", "bandwidth"] {
            let file = folder.join(stack.name()).join(name);
            ensure!(
                file.is_file(),
                "the benchmark program {} is missing: `make bench` builds it (or say where with --bench)",
                file.display()
            );
        }
    }
    Ok(folder)
}
