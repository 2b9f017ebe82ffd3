//! What the command line asks for: a plan, parts of it, or a plan made of options alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use super::benchmark::Benchmark;
use super::link::Link;
use super::plan::{Network, Plan};
use super::program::Program;
use crate::mpi::stacks::{self, Catalog};
use crate::storage::Asked;
use crate::system::programs;

/// The link of a plan that names none.
const DEFAULT_LINK: &str = "lan=1000+250";
/// Stands for the hosts of the batch system's job.
const SLURM: &str = "slurm";

/// What to measure.
#[derive(clap::Args, Default, PartialEq)]
pub struct Selection {
    /// Plan in TOML, or the name of a ready one: everything, programs, patterns, one-sided, many-ranks, one-host, provider-rails, molecular-dynamics, claims, claims-patterns, claims-fast, claims-histories, claims-distance, claims-failover, ablation, or that of an experiment (`fishplate lab run`)
    pub plan: Option<PathBuf>,

    /// Stacks, instead of those of the plan
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub stacks: Vec<String>,

    /// File, or folder of files, that describes stacks of your own (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub stack_file: Vec<PathBuf>,

    /// Links of the plan, or new ones: rates of the rails in Mbit/s (0: not limited) [default: lan=1000+250]
    #[arg(long, value_name = "NAME|NAME=RATE+RATE...,...", value_delimiter = ',')]
    pub links: Vec<String>,

    /// Storage that programs get: each link is measured with each of these [default: that of the plan, or none]
    #[arg(long, value_name = "NAME[:servers=N][:size_mib=N][:mptcp],...", value_delimiter = ',', value_parser = Asked::from_str)]
    pub storage: Vec<Asked>,

    /// Benchmarks of the plan by name or a part of it, or programs with options [default: latency,bandwidth]
    #[arg(long, value_name = "NAME|PROGRAM:OPTION:...,...", value_delimiter = ',')]
    pub benchmarks: Vec<String>,

    /// Folder with the provider of another build, which claims are told of beside the stack in question
    #[arg(long, value_name = "FOLDER")]
    pub against: Option<PathBuf>,

    /// How often each stack has its turn [default: 3]
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,

    /// Message sizes, of all benchmarks that have a choice
    #[arg(long, value_name = "LIST")]
    pub sizes: Option<String>,

    /// Seconds to measure each size, of all benchmarks that have a choice
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,

    /// Compare every byte (slower: do not compare such values with others)
    #[arg(long)]
    pub checked: bool,

    /// Seconds that one program may take [default: 120]
    #[arg(long, value_name = "S")]
    pub timeout: Option<f64>,

    /// Emulate nothing: run on these hosts, or on those of this Slurm job ("slurm")
    #[arg(long, value_name = "NAME,...|slurm", value_delimiter = ',', conflicts_with_all = ["links", "hostfile"])]
    pub hosts: Vec<String>,

    /// Emulate nothing: run on the hosts in this file, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "links")]
    pub hostfile: Option<PathBuf>,

    /// What the network is called that is not emulated
    #[arg(long, value_name = "NAME", default_value = "as it is")]
    pub network: String,

    /// Interfaces that stacks are told on such a network, the best first [default: they choose]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub rails: Vec<String>,
}

impl Selection {
    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        *self == Selection { network: self.network.clone(), ..Selection::default() }
    }

    /// The plan that results, and all stacks.
    pub fn plan(&self) -> Result<(Plan, Catalog)> {
        let mut plan = self.plan.as_deref().map_or_else(|| Ok(Plan::default()), Plan::load)?;
        plan.stack_files.extend(self.stack_file.iter().cloned());
        if !self.stacks.is_empty() {
            plan.stacks.clone_from(&self.stacks);
        }
        self.choose_where(&mut plan)?;
        self.choose_storage(&mut plan)?;
        self.choose_benchmarks(&mut plan)?;
        if let Some(folder) = &self.against {
            let folder = stacks::absolute(folder)?;
            let folder = folder.to_str().context("--against: the folder's name is not UTF-8")?;
            plan.tell_other_build(folder).context("--against")?;
        }
        plan.rounds = self.rounds.unwrap_or(plan.rounds);
        plan.checked |= self.checked;
        plan.timeout_s = self.timeout.unwrap_or(plan.timeout_s);
        for benchmark in &mut plan.benchmarks {
            if let Some(sizes) = &self.sizes {
                benchmark.set_sizes(sizes);
            }
            if let Some(seconds) = self.seconds {
                benchmark.set_seconds(seconds);
            }
        }
        let catalog = plan.catalog()?;
        let from = self.plan.as_ref().map_or("the command line".into(), |plan| plan.display().to_string());
        plan.complete(&catalog).with_context(|| from)?;
        Ok((plan, catalog))
    }

    fn choose_where(&self, plan: &mut Plan) -> Result<()> {
        let hosts = hosts(&self.hosts, self.hostfile.as_deref())?;
        if !hosts.is_empty() {
            plan.links.clear();
            plan.benchmarks.iter_mut().for_each(|benchmark| benchmark.links.clear());
            plan.network =
                Some(Network { name: self.network.clone(), hosts, rails: self.rails.clone(), storage: None });
            return Ok(());
        }
        ensure!(self.rails.is_empty(), "--rails is for networks that are there: it needs --hosts or --hostfile");
        if !self.links.is_empty() {
            let known = std::mem::take(&mut plan.links);
            let links = self.links.iter().map(|text| link(text, &known)).collect::<Result<_>>();
            plan.links = links.context("--links")?;
            // What is measured on other links only is not wanted now.
            plan.leave_out_other_links();
        } else if plan.links.is_empty() && plan.network.is_none() {
            plan.links.push(Link::parse(DEFAULT_LINK)?);
        }
        Ok(())
    }

    /// Each link becomes one with each storage.
    fn choose_storage(&self, plan: &mut Plan) -> Result<()> {
        if self.storage.is_empty() {
            return Ok(());
        }
        if let Some(network) = &mut plan.network {
            ensure!(self.storage.len() == 1, "--storage: one at a time on a network that is there");
            network.storage = self.storage.first().cloned();
            return Ok(());
        }
        let with_each = |link: &Link| self.storage.iter().map(|storage| link.with_storage(storage)).collect::<Vec<_>>();
        for benchmark in &mut plan.benchmarks {
            let links = plan.links.iter().filter(|link| benchmark.links.contains(&link.name));
            benchmark.links = links.flat_map(with_each).map(|link| link.name).collect();
        }
        plan.links = plan.links.iter().flat_map(with_each).collect();
        Ok(())
    }

    fn choose_benchmarks(&self, plan: &mut Plan) -> Result<()> {
        let default = ["latency".to_string(), "bandwidth".to_string()];
        let asked = match (self.benchmarks.is_empty(), plan.benchmarks.is_empty()) {
            (true, false) => return Ok(()),
            (true, true) => default.as_slice(),
            (false, _) => self.benchmarks.as_slice(),
        };
        let known = std::mem::take(&mut plan.benchmarks);
        let chosen = asked.iter().map(|text| chosen(text, &known)).collect::<Result<Vec<_>>>()?;
        for benchmark in chosen.into_iter().flatten() {
            // Parts of names may overlap.
            if plan.benchmarks.iter().all(|known| known.name != benchmark.name) || !known.contains(&benchmark) {
                plan.benchmarks.push(benchmark);
            }
        }
        plan.leave_out_unused();
        Ok(())
    }
}

/// The hosts that were named, in a file or as those of the batch system's job.
pub fn hosts(named: &[String], file: Option<&Path>) -> Result<Vec<String>> {
    match file {
        Some(file) => hosts_in(file),
        None if named == [SLURM] => slurm_hosts(),
        None => Ok(named.to_vec()),
    }
}

/// A link of a plan by its name, or a new one: `NAME=RATE+RATE...`.
pub fn link(text: &str, known: &[Link]) -> Result<Link> {
    if text.contains('=') {
        return Link::parse(text);
    }
    let names: Vec<&str> = known.iter().map(|link| link.name.as_str()).collect();
    let found = known.iter().find(|link| link.name == text).cloned();
    found.with_context(|| match names.is_empty() {
        true => format!("no plan has a link \"{text}\": a new one is NAME=RATE+RATE..."),
        false => format!("no link \"{text}\" in the plan; it has {}", names.join(", ")),
    })
}

/// A benchmark of the plan by name; a new one; or those whose names have this part.
fn chosen(text: &str, known: &[Benchmark]) -> Result<Vec<Benchmark>> {
    if let Some(found) = known.iter().find(|benchmark| benchmark.name == text) {
        return Ok(vec![found.clone()]);
    }
    let mut words = words(text).into_iter();
    let why = match Program::try_from(words.next().unwrap_or_default()) {
        Ok(program) => {
            return Ok(vec![Benchmark { name: text.to_string(), ..Benchmark::of(program, words.collect()) }]);
        }
        Err(why) => why,
    };
    let parts: Vec<Benchmark> = known.iter().filter(|known| known.name.contains(text)).cloned().collect();
    let names: Vec<&str> = known.iter().map(|benchmark| benchmark.name.as_str()).collect();
    let of_plan = if names.is_empty() { String::new() } else { format!("; the plan has {}", names.join(", ")) };
    ensure!(!parts.is_empty(), "--benchmarks: {why}{of_plan}");
    Ok(parts)
}

/// A program and its options, apart by colons; those of a URL belong to it.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split(':') {
        match words.last_mut() {
            // What follows a scheme, or is still within the brackets of an address.
            Some(last) if part.starts_with("//") || (last.contains('[') && !last.contains(']')) => {
                last.push(':');
                last.push_str(part);
            }
            _ => words.push(part.to_string()),
        }
    }
    words
}

/// Hosts of a file, one a line; what follows a name (slots, say) is left out, and so are comments.
fn hosts_in(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read the hosts in {}", file.display()))?;
    let name = |line: &str| line.split([' ', '\t', ':', '#']).next().filter(|name| !name.is_empty()).map(String::from);
    let mut hosts: Vec<String> = text.lines().map(str::trim).filter_map(name).collect();
    hosts.dedup();
    ensure!(!hosts.is_empty(), "{} names no hosts", file.display());
    Ok(hosts)
}

/// Hosts of the Slurm job that this program runs in.
fn slurm_hosts() -> Result<Vec<String>> {
    let Ok(list) = std::env::var("SLURM_JOB_NODELIST") else {
        bail!("--hosts slurm: this is no Slurm job (SLURM_JOB_NODELIST is not set): `salloc -N 2 fishplate bench ...`")
    };
    let names = programs::run_quietly(Command::new("scontrol").args(["show", "hostnames", &list]), "")
        .context("--hosts slurm")?;
    Ok(names.lines().map(|name| name.trim().to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_part_options_but_not_urls() {
        assert_eq!(words("bandwidth:--window=16:--sizes:8"), ["bandwidth", "--window=16", "--sizes", "8"]);
        let url = words("io_threads:--path:nfs://host/x?version=4:--threads:8");
        assert_eq!(url, ["io_threads", "--path", "nfs://host/x?version=4", "--threads", "8"]);
        assert_eq!(
            words("io_tile:--path=nfs://[fe80::1]/x:--check"),
            ["io_tile", "--path=nfs://[fe80::1]/x", "--check"]
        );
    }
}
