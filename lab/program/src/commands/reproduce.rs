//! `fishplate reproduce`: measurements of papers, on models of their machines.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use fishplate_sim::reproduce::{
    Chosen, Curve, Experiments, FACTS, Fact, Judged, ROWS, Reach, judge, number, read_facts, sensitivity,
};

use crate::output::terminal;
use crate::record::write::Writer;
use crate::record::{self, Line};
use crate::report::{self, Report};
use crate::simulation::{print, record as simulated};
use crate::system::{output_file, private_folder};
use crate::{say, tell};

/// Runs the papers' microbenchmarks on models of their machines, with the engine that carries real MPI.
///
/// Compares paper and simulation, row by row. Rows of kind C have set parameters of the models and are no successes.
/// Rows of kind P are predicted numbers, rows of kind O predicted orderings.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One paper only: multirail-2004, endapps-2006, pecnit-2007, wan-2008
    paper: Option<String>,

    /// One row only
    #[arg(long, value_name = "ID")]
    row: Option<String>,

    /// Write a record of all curves and rows; `fishplate report` makes a page of it
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Write a page with the table and the curves of each figure
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the tables of docs/papers/reproduce.md: the number of rows that hold, and the rows that do not
    #[arg(long, conflicts_with_all = ["paper", "row", "sensitivity"])]
    markdown: bool,

    /// Vary each assumption over its range; show the rows that change, and the change of numbers that are not as published
    #[arg(long)]
    sensitivity: bool,

    /// Seed of random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  fishplate reproduce
  fishplate reproduce multirail-2004 -o multirail.html
  fishplate reproduce --row M15
  fishplate reproduce endapps-2006 --sensitivity";

pub fn run(args: &Args) -> Result<ExitCode> {
    let facts = read_facts(FACTS).map_err(|error| anyhow!("the table of facts: {error}"))?;
    let known: Vec<&str> = facts.iter().map(|fact| fact.paper.as_str()).collect();
    if let Some(paper) = &args.paper {
        ensure!(known.contains(&paper.as_str()), "there is no paper {paper}: there are {}", papers(&known));
    }
    if let Some(row) = &args.row {
        ensure!(facts.iter().any(|fact| fact.id == *row), "there is no row {row}");
    }
    if args.sensitivity {
        return vary(&facts, args);
    }
    let (rows, curves) = judged(&facts, args)?;
    terminal::print(&if args.markdown { print::markdown(&rows) } else { print::text(&rows) });
    write(&rows, &curves, args)?;
    Ok(ExitCode::SUCCESS)
}

fn papers(known: &[&str]) -> String {
    let mut papers: Vec<&str> = known.to_vec();
    papers.dedup();
    papers.join(", ")
}

/// The papers side by side, as they have no experiment in common.
fn judged(facts: &[Fact], args: &Args) -> Result<(Vec<Judged>, Vec<Curve>)> {
    let mut papers: Vec<&str> = ROWS.iter().map(|row| row.paper).collect();
    papers.dedup();
    papers.retain(|paper| args.paper.as_ref().is_none_or(|only| only == paper));
    let found: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = papers.iter().map(|paper| scope.spawn(|| judged_of(paper, facts, args))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a simulation has failed"))).collect()
    });
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for of_paper in found {
        let (more_rows, more_curves) = of_paper??;
        rows.extend(more_rows);
        curves.extend(more_curves);
    }
    Ok((rows, curves))
}

fn judged_of(paper: &str, facts: &[Fact], args: &Args) -> Result<(Vec<Judged>, Vec<Curve>)> {
    let experiments = Experiments::new(args.seed);
    let mut rows = Vec::new();
    for row in ROWS.iter().filter(|row| row.paper == paper) {
        let Some(fact) = facts.iter().find(|fact| fact.id == row.id) else { continue };
        if args.row.as_ref().is_some_and(|only| only != row.id) {
            continue;
        }
        let values = row.find(&experiments).map_err(|error| anyhow!("{}: {error}", row.id))?;
        rows.push(judge(fact, values));
    }
    Ok((rows, experiments.take_curves()))
}

/// Record and page.
fn write(rows: &[Judged], curves: &[Curve], args: &Args) -> Result<()> {
    if args.record.is_none() && args.output.is_none() {
        return Ok(());
    }
    let folder = private_folder::make("fishplate-reproduce-").context("cannot make a temporary folder")?;
    let file = args.record.clone().unwrap_or_else(|| folder.path().join("reproduce.jsonl"));
    let samples = simulated::samples(curves);
    let manifest = simulated::manifest("Papers against simulation", &samples, args.seed);
    let links = manifest.links.clone();
    let mut writer = Writer::create(&file, &manifest)?;
    links.iter().try_for_each(|name| writer.append(&simulated::link(name)))?;
    samples.into_iter().try_for_each(|sample| writer.append(&Line::Sample(sample)))?;
    for row in rows {
        writer.append(&Line::Statement(simulated::statement(row)))?;
    }
    drop(writer);
    if let Some(page) = &args.output {
        let report = Report::of(vec![record::read(&file)?], None, None)?;
        output_file::put(page, report::html(&report))?;
        tell!("page: {}", page.display());
    }
    Ok(())
}

fn vary(facts: &[Fact], args: &Args) -> Result<ExitCode> {
    let mut flipped = 0;
    let chosen = Chosen { paper: args.paper.as_deref(), row: args.row.as_deref() };
    let varied = sensitivity(facts, chosen, args.seed, |varied| {
        let flips = varied.flips.iter();
        let flips: Vec<String> =
            flips.map(|flip| format!("{} {}", flip.id, if flip.holds { "holds" } else { "does not hold" })).collect();
        flipped += usize::from(!flips.is_empty());
        let changes = if flips.is_empty() { "nothing changes".into() } else { flips.join(", ") };
        say!("{} {} = {} instead of {}: {changes}", varied.testbed, varied.path, varied.value, varied.assumed);
    });
    let (varied, reaches) = varied.map_err(|error| anyhow!("{error}"))?;
    for Reach { id, check, least, greatest } in &reaches {
        let [now, low, high] = [check.simulated.unwrap_or_default(), least.0, greatest.0].map(number);
        let (what, paper, least, greatest) = (&check.check.what, check.paper(), &least.1, &greatest.1);
        say!("{id}, {what}: {now} (paper: {paper}), from {low} ({least}) to {high} ({greatest})");
    }
    say!("{} variations, {flipped} of which change a row", varied.len());
    Ok(ExitCode::SUCCESS)
}
