//! The stacks that are compared, each at its best settings.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::{APPLICATION, RAILS_MBIT};
use crate::mpi::stacks::{Catalog, Invocation, Job, Source, Stack};
use crate::testbed::rail_name;

/// Name of Fishplate among these stacks.
pub const FISHPLATE: &str = "Fishplate";

/// A stack with settings.
pub struct DemoStack {
    pub name: &'static str,
    pub rails: &'static str,
    /// Whether its settings contain the rates of the rails, which no other stack gets.
    pub rates_given: bool,
    stack: Stack,
    /// Rails that are passed to it; without any it finds them.
    passed_rails: Vec<String>,
}

/// All of them, in the order of their turns. `rails` is their number.
pub fn all(rails: usize) -> Result<Vec<DemoStack>> {
    let catalog = Catalog::load(&[])?;
    let names: Vec<String> = (0..rails).map(rail_name).collect();
    let demo_stack = |name, stack: &str, rails| -> Result<DemoStack> {
        Ok(DemoStack { name, rails, rates_given: false, stack: catalog.find(stack)?, passed_rails: names.clone() })
    };
    let mut by_hand = demo_stack("Open MPI, rates by hand", "openmpi-tcp", "both rails, with given rates")?;
    by_hand.rates_given = true;
    // It weighs rails by the speeds that their drivers report, which virtual ones do not.
    by_hand.stack.arguments.extend(RAILS_MBIT.iter().enumerate().flat_map(|(rail, mbit)| {
        ["--mca".to_string(), format!("btl_tcp_bandwidth_{}", rail_name(rail)), mbit.to_string()]
    }));
    let fishplate = demo_stack(FISHPLATE, "fishplate-mpich", "both rails, found by itself")?;
    Ok(vec![
        demo_stack("MPICH, libfabric tcp", "mpich-tcp", "best rail")?,
        demo_stack("MPICH, UCX", "mpich-ucx", "both rails")?,
        demo_stack("Open MPI, tcp", "openmpi-tcp", "both rails")?,
        by_hand,
        DemoStack { passed_rails: Vec::new(), ..fishplate },
    ])
}

impl DemoStack {
    /// Two ranks of `program`, on the hosts that the testbed's environment gives to `mpiexec`.
    pub fn invocation(&self, program: &[String]) -> Result<Invocation> {
        self.stack.run(&Job { ranks: 2, rails: self.passed_rails.clone(), program: program.to_vec(), ..Job::default() })
    }

    /// The file of a program that is built for it: in the folder of benchmark programs, or, of applications, in `apps` beside
    /// that.
    pub fn program(&self, bench: &Path, name: &str) -> PathBuf {
        let folder = if name == APPLICATION { &bench.with_file_name("apps") } else { bench };
        let stack = if let Source::Wheels(wheels) = &self.stack.source { &wheels.name } else { &self.stack.name };
        folder.join(stack).join(name)
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
    for demo_stack in all(RAILS_MBIT.len())? {
        for name in ["latency", "bandwidth", APPLICATION] {
            let file = demo_stack.program(&folder, name);
            ensure!(
                file.is_file(),
                "the program {} is missing: `make bench` builds it (or say where with --bench)",
                file.display()
            );
        }
    }
    Ok(folder)
}
