//! What to measure: stacks x links x benchmarks, so many rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::benchmark::Benchmark;
use super::history;
use super::link::Link;
use crate::descriptions;
use crate::mpi::stacks::{Catalog, Source, Stack};
use crate::storage::Asked;

/// Plans that come with the program.
const READY: [(&str, &str); 20] = [
    ("everything", include_str!("../../plans/everything.toml")),
    ("programs", include_str!("../../plans/programs.toml")),
    ("patterns", include_str!("../../plans/patterns.toml")),
    ("one-sided", include_str!("../../plans/one-sided.toml")),
    ("many-ranks", include_str!("../../plans/many-ranks.toml")),
    ("one-host", include_str!("../../plans/one-host.toml")),
    ("provider-rails", include_str!("../../plans/provider-rails.toml")),
    ("molecular-dynamics", include_str!("../../plans/molecular-dynamics.toml")),
    ("claims", include_str!("../../plans/claims.toml")),
    ("claims-patterns", include_str!("../../plans/claims-patterns.toml")),
    ("claims-fast", include_str!("../../plans/claims-fast.toml")),
    ("claims-histories", include_str!("../../plans/claims-histories.toml")),
    ("claims-failover", include_str!("../../plans/claims-failover.toml")),
    ("claims-distance", include_str!("../../plans/claims-distance.toml")),
    ("ablation", include_str!("../../plans/ablation.toml")),
    ("multirail-2004", include_str!("../../plans/multirail-2004.toml")),
    ("pecnit-2007", include_str!("../../plans/pecnit-2007.toml")),
    ("wan-2008", include_str!("../../plans/wan-2008.toml")),
    ("endapps-2006", include_str!("../../plans/endapps-2006.toml")),
    ("validate", include_str!("../../plans/validate.toml")),
];

/// Most hosts: as many as a testbed has.
const MAX_HOSTS: usize = 16;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Title of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Names of stacks; empty: all that are known.
    pub stacks: Vec<String>,
    /// Files that describe stacks of the user's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack_files: Vec<PathBuf>,
    /// Stacks that the plan itself describes, as files of stacks do.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own_stacks: BTreeMap<String, Value>,
    /// Stack that others are compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// How often each stack has its turn.
    pub rounds: u32,
    /// Each round goes over all links, so that what changes with time changes all alike; else each link has all its
    /// rounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub links_in_turn: bool,
    /// Every byte is compared.
    pub checked: bool,
    /// Seconds that a program may take.
    pub timeout_s: f64,
    /// Hosts of each link that has no clusters.
    pub hosts: usize,
    /// Which packets links lose, and how long those with jitter hold them.
    pub seed: u64,
    pub links: Vec<Link>,
    pub benchmarks: Vec<Benchmark>,
    /// A network that is there, instead of links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// A network as it is: nothing is emulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What it is called.
    pub name: String,
    pub hosts: Vec<String>,
    /// Interfaces that stacks are told, the best first; empty: they choose.
    #[serde(default)]
    pub rails: Vec<String>,
    /// A folder of all hosts, as storage of programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Asked>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            title: None,
            stacks: Vec::new(),
            stack_files: Vec::new(),
            own_stacks: BTreeMap::new(),
            reference: None,
            rounds: 3,
            links_in_turn: false,
            checked: false,
            timeout_s: 120.0,
            hosts: 2,
            seed: 1,
            links: Vec::new(),
            benchmarks: Vec::new(),
            network: None,
        }
    }
}

impl Plan {
    /// From a file, or the ready one that is called so.
    pub fn load(name: &Path) -> Result<Plan> {
        if let Some((ready, text)) = READY.iter().find(|(ready, _)| name == Path::new(ready)) {
            return Plan::parse(text, ready);
        }
        let text = fs::read_to_string(name).with_context(|| {
            let ready: Vec<&str> = READY.iter().map(|(ready, _)| *ready).collect();
            format!("cannot read the plan {} (ready ones: {})", name.display(), ready.join(", "))
        })?;
        // It is read again inside the testbed, so it cannot come from a pipe.
        ensure!(name.is_file(), "the plan {} is not a regular file", name.display());
        let mut plan = Plan::parse(&text, &name.display().to_string())?;
        // Seen from the folder of the plan, so that both can be moved together.
        let folder = name.parent().unwrap_or(Path::new(""));
        plan.stack_files.iter_mut().for_each(|file| *file = folder.join(&*file));
        Ok(plan)
    }

    /// The plan in `text`, which came from `file`.
    pub fn parse(text: &str, file: &str) -> Result<Plan> {
        let mut plan: Plan = descriptions::parse(text, file)?;
        for benchmark in &mut plan.benchmarks {
            if benchmark.name.is_empty() {
                benchmark.name = benchmark.program.name().into();
            }
        }
        Ok(plan)
    }

    /// All stacks that it can name.
    pub fn catalog(&self) -> Result<Catalog> {
        let mut catalog = Catalog::load(&self.stack_files)?;
        for (name, described) in &self.own_stacks {
            catalog.describe(name, described).with_context(|| format!("`own_stacks.{name}`"))?;
        }
        Ok(catalog)
    }

    /// Fills in what was left to the program, and says what is wrong.
    pub fn complete(&mut self, catalog: &Catalog) -> Result<()> {
        if self.stacks.is_empty() {
            self.stacks = catalog.all()?.into_iter().map(|stack| stack.name).collect();
        }
        for name in &self.stacks {
            catalog.find(name)?;
        }
        let timeouts = self.benchmarks.iter().filter_map(|benchmark| benchmark.timeout_s).chain([self.timeout_s]);
        let most = timeouts.clone().fold(0.0, f64::max);
        let least = timeouts.fold(f64::INFINITY, f64::min);
        ensure!(least > 0.0 && most <= 86_400.0, "`timeout_s` is above 0 and at most 86400 seconds");
        ensure!((1..=1000).contains(&self.rounds), "`rounds` is 1 to 1000, not {}", self.rounds);
        ensure!((2..=MAX_HOSTS).contains(&self.hosts), "`hosts` is 2 to {MAX_HOSTS}, not {}", self.hosts);
        if let Some(reference) = &self.reference {
            ensure!(self.stacks.contains(reference), "the reference {reference} is not among the stacks");
        }
        match &self.network {
            Some(network) => {
                ensure!(self.links.is_empty(), "a plan has either a network as it is, or links to emulate");
                ensure!(network.hosts.len() >= 2, "a network has at least 2 hosts: --hosts a,b");
                let storage = network.storage.as_ref();
                ensure!(
                    storage.is_none_or(|storage| storage.folder.is_some()),
                    "on a network that is there the storage is a folder that is there: --storage path:FOLDER"
                );
            }
            None => ensure!(!self.links.is_empty(), "no links: `[[links]]` in the plan, or --links lan=1000+250"),
        }
        self.links.iter().try_for_each(|link| link.check(self.hosts))?;
        ensure!(!self.benchmarks.is_empty(), "no benchmarks: `[[benchmarks]]` in the plan, or --benchmarks latency");
        self.benchmarks.iter().try_for_each(Benchmark::check)?;
        self.benchmarks.iter().filter(|benchmark| benchmark.histories).try_for_each(history::check)?;
        for (benchmark, stack) in self.benchmarks.iter().flat_map(|b| b.exclude.keys().map(move |s| (b, s))) {
            catalog.find(stack).with_context(|| format!("benchmark {} excludes a stack", benchmark.name))?;
        }
        for (benchmark, stack) in self.benchmarks.iter().flat_map(|b| b.stacks.iter().map(move |s| (b, s))) {
            catalog.find(stack).with_context(|| format!("`stacks` of benchmark {}", benchmark.name))?;
        }
        self.benchmarks.iter().try_for_each(|benchmark| self.check_links(benchmark))?;
        unique("stack", self.stacks.iter())?;
        unique("link", self.links.iter().map(|link| &link.name))?;
        unique("benchmark", self.benchmarks.iter().map(|benchmark| &benchmark.name))
    }

    /// Whether a benchmark's links are there, and have the rails of its schedule and the hosts of its ranks.
    fn check_links(&self, benchmark: &Benchmark) -> Result<()> {
        let (name, links) = (&benchmark.name, self.link_names());
        for link in &benchmark.links {
            ensure!(links.contains(link), "benchmark {name}: there is no link {link}; there are: {}", links.join(", "));
        }
        for link in self.links.iter().filter(|link| benchmark.is_on(&link.name)) {
            let (placed, hosts) = (benchmark.ranks_by_host.len(), link.topology(self.hosts, self.seed).clients());
            ensure!(
                placed <= hosts,
                "benchmark {name}: `ranks_by_host` is of {placed} hosts, and link {} has {hosts}",
                link.name
            );
            for entry in benchmark.schedule.iter().flat_map(|schedule| &schedule.entries) {
                let problem = || format!("the schedule of benchmark {name} on link {}", link.name);
                link.topology(self.hosts, self.seed).find(&entry.target).with_context(problem)?;
            }
        }
        Ok(())
    }

    /// Leaves all benchmarks out but those of these names, unless there are none.
    ///
    /// # Errors
    /// When one is unknown.
    pub fn choose_benchmarks(&mut self, names: &[String]) -> Result<()> {
        for name in names {
            let known: Vec<&str> = self.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
            ensure!(
                known.contains(&name.as_str()),
                "--benchmarks: no benchmark \"{name}\"; there are {}",
                known.join(", ")
            );
        }
        self.benchmarks.retain(|benchmark| names.is_empty() || names.contains(&benchmark.name));
        Ok(())
    }

    /// Leaves out the links and stacks that no benchmark is measured with.
    pub fn leave_out_unused(&mut self) {
        let benchmarks = &self.benchmarks;
        self.links.retain(|link| benchmarks.iter().any(|benchmark| benchmark.is_on(&link.name)));
        let is_used = |stack: &String| {
            benchmarks.iter().any(|benchmark| benchmark.stacks.is_empty() || benchmark.stacks.contains(stack))
        };
        self.stacks.retain(is_used);
        self.reference = self.reference.take().filter(is_used);
    }

    /// Has each claim tell a stack too that is like the one in question, with the provider in `folder`.
    pub fn tell_other_build(&mut self, folder: &str) -> Result<()> {
        let catalog = self.catalog()?;
        for benchmark in &mut self.benchmarks {
            let (Some(claim), Some(stack)) = (&mut benchmark.holds, benchmark.stacks.first().cloned()) else {
                continue;
            };
            let other = format!("{stack}-other-build");
            let mut described = match self.own_stacks.get(&stack) {
                Some(own) => own.clone(),
                None => like(&catalog.find(&stack)?),
            };
            described["environment"]["FI_PROVIDER_PATH"] = folder.into();
            self.own_stacks.insert(other.clone(), described);
            if !self.stacks.contains(&other) {
                self.stacks.push(other.clone());
            }
            benchmark.stacks.push(other.clone());
            claim.told.push(other);
        }
        Ok(())
    }

    /// Leaves out the links whose storage is not there, and what is measured on them only; why, in words.
    pub fn leave_out_storage(&mut self) -> Vec<String> {
        let mut reasons = Vec::new();
        self.links.retain(|link| {
            let ready = link.storage.as_ref().map_or(Ok(()), Asked::check_ready);
            reasons.extend(ready.as_ref().err().map(|why| format!("link {}: {why:#}", link.name)));
            ready.is_ok()
        });
        self.leave_out_other_links();
        reasons
    }

    /// What is measured only on links that this plan does not have.
    pub fn leave_out_other_links(&mut self) {
        let chosen = self.link_names();
        self.benchmarks.retain_mut(|benchmark| {
            let everywhere = benchmark.links.is_empty();
            benchmark.links.retain(|link| chosen.contains(link));
            everywhere || !benchmark.links.is_empty()
        });
    }

    /// Names of the links, or of the network in their place.
    pub fn link_names(&self) -> Vec<String> {
        match &self.network {
            Some(network) => vec![network.name.clone()],
            None => self.links.iter().map(|link| link.name.clone()).collect(),
        }
    }

    /// Whether programs have storage on a link.
    pub fn has_storage(&self, link: &str) -> bool {
        let of_link = self.links.iter().any(|known| known.name == link && known.storage.is_some());
        of_link || self.network.as_ref().is_some_and(|network| network.storage.is_some())
    }

    /// Where this plan is not `other`, as seen from `other`; `None`: nowhere.
    pub fn difference(&self, other: &Plan) -> Result<Option<String>> {
        let (ours, theirs) = (serde_json::to_value(self)?, serde_json::to_value(other)?);
        Ok(difference(&ours, &theirs, ""))
    }
}

/// The description of a stack of `fishplate setup` as another one.
fn like(stack: &Stack) -> Value {
    match &stack.source {
        Source::Wheels(wheels) => serde_json::json!({ "like": stack.name, "wheels": wheels.name }),
        _ => serde_json::json!({ "like": stack.name }),
    }
}

/// The first place where two values differ, with both.
fn difference(ours: &Value, theirs: &Value, place: &str) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let at = |key: &str| if place.is_empty() { key.to_string() } else { format!("{place}.{key}") };
            let null = Value::Null;
            keys.into_iter()
                .find_map(|key| difference(a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null), &at(key)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() && a.iter().any(Value::is_object) => {
            a.iter().zip(b).enumerate().find_map(|(n, (a, b))| difference(a, b, &format!("{place}[{n}]")))
        }
        _ if ours == theirs => None,
        _ => Some(format!("`{place}` is {ours} there, {theirs} here")),
    }
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        ensure!(!name.is_empty(), "a {what} has an empty name");
        if !seen.insert(name) {
            bail!("two {what}s are called \"{name}\": give one another `name`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "stacks = [\"mpich-tcp\"]\n[[links]]\nname = \"lan\"\nrails = [{ rate_mbit = 100 }]\n\
                        [[benchmarks]]\nprogram = \"latency\"\noptions = \"--sizes 8\"\n";

    fn error(text: &str) -> String {
        let catalog = Catalog::load(&[]).unwrap();
        let completed = Plan::parse(text, "plan.toml").and_then(|mut plan| plan.complete(&catalog));
        completed.err().map(|error| format!("{error:#}")).unwrap_or_default()
    }

    #[test]
    fn ready_plans_are_sound() {
        for (name, _) in READY {
            let mut plan = Plan::load(Path::new(name)).unwrap();
            let catalog = plan.catalog().unwrap();
            plan.complete(&catalog).unwrap();
        }
    }

    #[test]
    fn mistakes_are_told_with_file_and_line() {
        assert!(error(&PLAN.replace("100", "-100")).starts_with("plan.toml, line 4: a rate is a whole number"));
        assert!(error(&PLAN.replace("\"latency\"", "\"lat\"")).contains("line 6: no benchmark program \"lat\""));
        assert!(error(&PLAN.replace("options", "option")).starts_with("plan.toml, line 7: unknown field `option`"));
        assert!(error(&format!("{PLAN}[")).starts_with("plan.toml, line 8: "));
        assert!(error(&PLAN.replace("mpich-tcp", "lam")).contains("no stack \"lam\"; known: "));
        assert!(error(&format!("rounds = 0\n{PLAN}")).contains("`rounds` is 1 to 1000, not 0"));
        assert!(error(&format!("reference = \"x\"\n{PLAN}")).contains("the reference x"));
        assert!(error(&format!("timeout_s = -1\n{PLAN}")).contains("`timeout_s` is above 0"));
        assert!(error(&format!("{PLAN}[[benchmarks]]\nprogram = \"latency\"\n")).contains("two benchmarks"));
        assert!(error("").contains("no links"));
        assert!(error(&format!("{PLAN}schedule = \"3s\"\n")).starts_with("plan.toml, line 8: cannot read \"3s\""));
    }

    /// Keys of a benchmark, a program of them, and what is said of them; nothing where they are right.
    #[test]
    fn mistakes_in_benchmarks_are_told() {
        for line in include_str!("../../plans/tests/mistakes.txt").lines() {
            let (keys, message) = line.split_once(" =>").unwrap();
            let keys = keys.replace(" ; ", "\n").replace("STACKS", "[\"mpich-tcp\", \"mpich-ucx\"]");
            let keys = keys.replace("LIMITS", "{ resumed_ms = 50, used_again_ms = 2000, full_sum_ms = 1000 }");
            let (links, _) = PLAN.split_once("program").unwrap();
            let program = if keys.contains("program") { "" } else { "program = \"latency\"\n" };
            let told = error(&format!("{links}{program}{keys}\n"));
            let message = message.trim();
            assert!(told.contains(message) && told.is_empty() == message.is_empty(), "{line}: {told}");
        }
    }

    #[test]
    fn plans_describe_stacks_of_their_own() {
        let own = "[own_stacks.one]\nlike = \"fishplate-mpich\"\nwheels = \"mpich\"\nrails = \"best\"\n";
        let plan = Plan::parse(own, "a").unwrap();
        assert!(plan.catalog().unwrap().find("one").unwrap().fishplate);
        let plan = Plan::parse(&own.replace("rails", "rail"), "a").unwrap();
        let error = format!("{:#}", plan.catalog().err().unwrap());
        assert!(error.starts_with("`own_stacks.one`: unknown field `rail`"), "{error}");
    }

    #[test]
    fn the_first_difference_is_told_with_both_sides() {
        let plan = Plan::parse(PLAN, "a").unwrap();
        assert_eq!(plan.difference(&plan).unwrap(), None);
        let other = Plan::parse(&PLAN.replace("--sizes 8", "--sizes 9"), "b").unwrap();
        let difference = plan.difference(&other).unwrap().unwrap();
        assert_eq!(difference, "`benchmarks[0].options` is [\"--sizes\",\"8\"] there, [\"--sizes\",\"9\"] here");
        let more = Plan { reference: Some("mpich-tcp".into()), ..plan.clone() };
        assert!(plan.difference(&more).unwrap().unwrap().starts_with("`reference` is null there"));
    }
}
