//! `fishplate report`: records as a page, a CSV file, a Markdown text.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use fishplate_guest::printable;

use crate::record;
use crate::report::{self, Report};
use crate::system::output_file;
use crate::tell;

/// Makes a page of records: ratios of stacks, charts, links.
///
/// Links are shown as configured and as measured. The page is one file that needs no network. Ratios are paired by
/// round and have confidence intervals. Equal records give equal bytes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Records of `fishplate bench` or of ready experiments
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,

    /// File of the page [default: report.html, unless --csv or --markdown is given]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// File of all points as comma-separated values; "-" is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// File of the report as Markdown; "-" is standard output
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Stack that the others are compared with [default: that of the record, or its first]
    #[arg(long, value_name = "STACK")]
    reference: Option<String>,

    /// Title of the report [default: that of the record]
    #[arg(long)]
    title: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate report record.jsonl
  fishplate report monday.jsonl tuesday.jsonl -o week.html --title 'Two days'
  fishplate report record.jsonl --reference fishplate --markdown - | less
  fishplate report record.jsonl --csv points.csv";

pub fn run(args: Args) -> Result<ExitCode> {
    let records = args.records.iter().map(|file| record::read(file)).collect::<Result<Vec<_>>>()?;
    for note in records.iter().filter_map(|record| record.torn_note()) {
        tell!("fishplate: {note}");
    }
    let report = Report::of(records, args.title, args.reference.as_deref())?;
    let other = args.csv.is_some() || args.markdown.is_some();
    let page = args.output.or_else(|| (!other).then(|| PathBuf::from("report.html")));
    if let Some(file) = &page {
        put(file, &report::html(&report))?;
        tell!("page: {}", file.display());
    }
    if let Some(file) = &args.csv {
        put(file, &report::csv(&report)?)?;
    }
    if let Some(file) = &args.markdown {
        put(file, &report::markdown(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn put(file: &Path, text: &str) -> Result<()> {
    if file == Path::new("-") {
        return std::io::stdout().write_all(printable(text).as_bytes()).context("cannot write to standard output");
    }
    output_file::put(file, text)
}
