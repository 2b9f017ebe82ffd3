//! `fishplate lab run`: a ready experiment, from its plan to its page; and `fishplate lab verdicts` on its records.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;

use super::bench::carry_out;
use crate::bench::Bench;
use crate::experiments::{self, Experiment};
use crate::output::terminal;
use crate::record::write::Writer;
use crate::record::{self, Line, Statement};
use crate::report::{self, Report};
use crate::system::output_file;
use crate::{say, tell};

#[derive(clap::Args)]
pub struct Args {
    /// The experiment
    #[arg(value_parser = PossibleValuesParser::new(experiments::names()))]
    name: String,

    /// Measure one round with little time for each value, as a trial
    #[arg(long)]
    quick: bool,

    /// Run only these benchmarks of the experiment; statements about the others are not tested
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    benchmarks: Vec<String>,

    /// File of the record [default: NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Continue the record
    #[arg(long)]
    resume: bool,

    /// File of the page [default: NAME.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Folder with the sources of the benchmark programs [default: `bench` near this program or in the current folder]
    #[arg(long, value_name = "FOLDER")]
    sources: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Verdicts {
    /// Records of `fishplate lab run`.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
}

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    let experiment = experiments::find(&args.name).with_context(|| format!("no experiment {}", args.name))?;
    let (mut plan, catalog) = experiment.plan(args.quick)?;
    plan.choose_benchmarks(&args.benchmarks)?;
    for reason in plan.leave_out_storage() {
        // Once, not again inside of namespaces.
        if inside.is_none() {
            tell!("fishplate: left out: {reason}");
        }
    }
    let file = |given: Option<PathBuf>, ending: &str| given.unwrap_or_else(|| format!("{}.{ending}", args.name).into());
    let record = file(args.record, "jsonl");
    let page = file(args.output, "html");
    let bench = Bench { plan, catalog, record: record.clone(), resume: args.resume, sources: args.sources };
    carry_out(&bench, inside, &|| conclude(experiment, &record, &page))
}

/// Judges the statements by the record, and makes the page.
fn conclude(experiment: &Experiment, file: &Path, page: &Path) -> Result<()> {
    let (mut writer, record) = Writer::resume(file)?;
    for statement in experiment.statements(&record) {
        say!("{}", describe(&statement));
        writer.append(&Line::Statement(statement))?;
    }
    let report = Report::of(vec![record::read(file)?], None, None)?;
    output_file::put(page, report::html(&report))?;
    say!("page: {}", page.display());
    Ok(())
}

fn describe(statement: &Statement) -> String {
    let Statement { id, verdict, why, values, .. } = statement;
    let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let decided = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
    format!("{id:4} {:21} {why}{decided}", verdict.words())
}

/// Published statements judged by records of ready experiments.
pub fn verdicts(args: &Verdicts) -> Result<()> {
    let mut sections = Vec::new();
    for file in &args.records {
        let record = record::read(file)?;
        let experiment = Experiment::of(&record)
            .with_context(|| format!("{}: no record of {}", file.display(), experiments::names().join(", ")))?;
        sections.push(format!("### {}\n\n{}", experiment.name(), experiments::markdown(experiment, &record)));
    }
    terminal::print(&sections.join("\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::commands::cli::Cli;

    #[test]
    fn an_unknown_benchmark_is_reported_with_the_known_ones() {
        let (mut plan, _) = crate::experiments::find("endapps-2006").unwrap().plan(false).unwrap();
        let error = plan.choose_benchmarks(&["ft".into()]).unwrap_err().to_string();
        assert!(error.contains("--benchmarks: no benchmark \"ft\"; there are latency, bandwidth, is, cg"), "{error}");
        plan.choose_benchmarks(&["mg".into(), "is".into()]).unwrap();
        assert_eq!(plan.benchmarks.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["is", "mg"]);
    }

    #[test]
    fn an_unknown_experiment_is_reported_with_the_known_ones() {
        let error = Cli::try_parse_from(["fishplate", "lab", "run", "multirail"]).err().unwrap().to_string();
        assert!(error.contains("'multirail'"), "{error}");
        assert!(error.contains("multirail-2004, wan-2008, endapps-2006, pecnit-2007"), "{error}");
    }
}
