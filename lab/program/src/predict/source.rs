//! Sources of a prediction: a trace, or a program in GOAL.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use fishplate_sim::replay::{self, Computation, Outcome, graph};
use fishplate_sim::testbed::Machine;
use fishplate_trace::goal::{self, Program};
use fishplate_trace::{Step, Trace, read, ti};

use crate::output::text;
use crate::tell;
use crate::trace::{self, export};

/// A program.
pub enum Source {
    /// As it was recorded.
    Trace(Arc<Trace>),
    /// As somebody has described it; the name of its file.
    Goal(Arc<Program>, String),
}

impl Source {
    /// The folder of a trace; a file in GOAL; or a file of SimGrid's: a trace, or the names of those of all ranks, where a
    /// processor does `flops` in a second.
    ///
    /// # Errors
    /// When it is none of them, or something is wrong with it.
    pub fn open(path: &Path, flops: Option<f64>) -> Result<Source> {
        if path.is_dir() || !path.exists() {
            let (trace, spawned) = read::folder_without_spawned(path)?;
            if spawned > 0 {
                let ranks = text::plural(spawned as u64, "rank");
                tell!(
                    "fishplate: {ranks} that others have started (MPI_Comm_spawn) left out: messages between several \
                     worlds are in no trace"
                );
            }
            return Ok(Source::Trace(Arc::new(trace)));
        }
        let shown = path.display();
        let bytes = std::fs::read(path).with_context(|| format!("{shown}"))?;
        let text = String::from_utf8_lossy(&bytes);
        if let Some(files) = export::time_independent_files(path, &text)? {
            let mut trace = ti::read::traces(&files, flops)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            trace.ranks.iter_mut().for_each(|rank| rank.header.program.clone_from(&name));
            return Ok(Source::Trace(Arc::new(trace)));
        }
        ensure!(
            goal::is_goal(&text),
            "{shown}: a trace is a folder; a file is a program in GOAL, which begins with num_ranks, or a time-independent \
             trace of SimGrid, which begins with the rank and init, or has the names of such files"
        );
        let program = goal::parse(&text).map_err(|error| anyhow!("{shown}, {error}"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Source::Goal(Arc::new(program), name))
    }

    /// A number that another program hardly has.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Source::Trace(trace) => {
                for rank in &trace.ranks {
                    rank.operations.hash(&mut hasher);
                    let step = |step: &Step| (step.operation, step.processor_ns, step.idle_ns).hash(&mut hasher);
                    rank.steps.iter().for_each(step);
                }
            }
            Source::Goal(program, _) => format!("{program:?}").hash(&mut hasher),
        }
        hasher.finish()
    }

    /// Says what it cannot do.
    ///
    /// # Errors
    /// When ranks of a graph are to share processors, or a page is to show their calls.
    pub fn check(&self, processors: Option<u32>, has_page: bool) -> Result<()> {
        let is_graph = matches!(self, Source::Goal(..));
        ensure!(processors.is_none() || !is_graph, "--processors: ranks of a program in GOAL do not share processors");
        ensure!(!has_page || !is_graph, "--page: a program in GOAL has no calls of MPI that a page could show");
        Ok(())
    }

    pub fn ranks(&self) -> u32 {
        match self {
            Source::Trace(trace) => trace.ranks.len() as u32,
            Source::Goal(program, _) => program.ranks.len() as u32,
        }
    }

    /// Its calls or operations.
    pub fn calls(&self) -> u64 {
        match self {
            Source::Trace(trace) => trace.ranks.iter().map(|rank| rank.steps.len() as u64).sum(),
            Source::Goal(program, _) => program.ranks.iter().map(|rank| rank.len() as u64).sum(),
        }
    }

    pub fn name(&self) -> String {
        match self {
            Source::Trace(trace) => trace::program(trace),
            Source::Goal(_, name) => name.clone(),
        }
    }

    /// Default number of ranks per node.
    pub fn ranks_per_node(&self) -> u32 {
        match self {
            Source::Trace(trace) => trace::ranks_per_host(trace),
            Source::Goal(..) => 1,
        }
    }

    /// Default of whether idle time counts as computation.
    pub fn computes_all_the_time(&self) -> bool {
        match self {
            Source::Trace(trace) => !trace::is_oversubscribed(trace),
            Source::Goal(..) => true,
        }
    }

    /// Caveats for users of the source.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Source::Trace(trace) => trace::notes(trace),
            Source::Goal(..) => Vec::new(),
        }
    }

    /// Runs it on a machine.
    ///
    /// # Errors
    /// When ranks wait for ever.
    pub fn run(&self, machine: &Machine, computation: Computation) -> Result<Outcome, String> {
        match self {
            Source::Trace(trace) => replay::run(machine, trace, computation),
            Source::Goal(program, _) => graph::run(machine, program, computation.scale),
        }
    }
}
