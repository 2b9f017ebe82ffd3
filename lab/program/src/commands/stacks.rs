//! `fishplate stacks`: the stacks, their missing parts, and their command lines.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::lab::launch::REMOTE_SHELL;
use crate::mpi::stacks::{Catalog, Hosts, Job, Spread, Stack};
use crate::output::text;
use crate::say;
use crate::testbed::MANAGEMENT;

/// Lists the stacks, or shows how one of them compiles and runs a program.
///
/// `fishplate bench` compares stacks, and `fishplate run --mpi` uses one. Stacks of your own are described in TOML, in
/// files given with --stacks, or in the folder `stacks` of ${XDG_CONFIG_HOME:-~/.config}/fishplate.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Show the command lines of this stack, as a shell takes them
    stack: Option<String>,

    /// File, or folder of files, that describes stacks of your own (may be repeated)
    #[arg(long, value_name = "FILE")]
    stacks: Vec<PathBuf>,

    /// Number of ranks
    #[arg(long, default_value_t = 2, requires = "stack")]
    ranks: u16,

    /// Hosts [default: as the launcher finds them]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "stack")]
    hosts: Vec<String>,

    /// Order of ranks over hosts
    #[arg(long, default_value = "blocks", requires = "stack")]
    spread: Spread,

    /// Interfaces to use as rails, the best first [default: as the stack finds them]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "stack")]
    rails: Vec<String>,

    /// Settings for more ranks than cores on a machine
    #[arg(long, requires = "stack")]
    oversubscribed: bool,

    /// Instead of running a program, compile those in this folder (`bench` of the sources)
    #[arg(long, value_name = "FOLDER", requires = "out", conflicts_with = "program")]
    compile: Option<PathBuf>,

    /// Folder of the compiled programs
    #[arg(long, value_name = "FOLDER", requires = "compile")]
    out: Option<PathBuf>,

    /// Program and arguments to run
    #[arg(last = true, value_name = "PROGRAM", requires = "stack")]
    program: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate stacks
  fishplate stacks --stacks my-stacks.toml
  fishplate stacks openmpi-tcp --hosts a,b --rails eth0,eth1 -- ./program
  fishplate stacks mpich-ucx --compile bench --out build/bench/mpich

A file of stacks:
  [site-openmpi]
  like = \"openmpi-tcp\"
  modules = [\"gcc/12\", \"openmpi/5.0\"]
  launcher = \"openmpi\"";

pub fn run(args: Args) -> Result<ExitCode> {
    let catalog = Catalog::load(&args.stacks)?;
    let Some(name) = &args.stack else {
        say!("{}", list(&catalog)?);
        return Ok(ExitCode::SUCCESS);
    };
    let stack = catalog.find(name)?;
    let invocation = match (&args.compile, &args.out) {
        (Some(sources), Some(out)) => stack.compile(sources, out)?,
        _ => stack.run(&args.job())?,
    };
    say!("{}", invocation.shown());
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn job(&self) -> Job {
        // On a testbed, its own remote shell and its own network for starting processes.
        let remote_shell = env::var_os(REMOTE_SHELL).map(PathBuf::from);
        let interface = remote_shell.is_some().then(|| MANAGEMENT.to_string());
        let program = if self.program.is_empty() { vec!["PROGRAM".into()] } else { self.program.clone() };
        Job {
            ranks: self.ranks.into(),
            hosts: Hosts { names: self.hosts.clone(), ranks: Vec::new(), remote_shell, interface },
            spread: self.spread,
            rails: self.rails.clone(),
            oversubscribed: self.oversubscribed,
            variables: Vec::new(),
            program,
            folder: None,
        }
    }
}

fn list(catalog: &Catalog) -> Result<String> {
    let mut table = text::table(&["stack", "", "programs", "cannot", "state"], 5);
    for stack in catalog.all()? {
        let lacks = [
            (!stack.mpi, "MPI"),
            (stack.mpi && !stack.one_sided, "one-sided"),
            (stack.mpi && !stack.threads, "threads"),
        ];
        let lacks: Vec<&str> = lacks.iter().filter(|(lacks, _)| *lacks).map(|(_, what)| *what).collect();
        table.add_row([&stack.name, &stack.title, &stack.source.shown(), &lacks.join(", "), &state(&stack)]);
    }
    Ok(table.to_string())
}

fn state(stack: &Stack) -> String {
    match stack.check_launcher().and_then(|()| stack.check_compiler()) {
        Ok(()) => "ready".into(),
        Err(problem) => stack.source.how_to_get().unwrap_or_else(|| format!("{problem:#}")),
    }
}
