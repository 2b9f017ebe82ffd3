//! `fishplate help`: all commands, and the pages of the documentation.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Command;

use super::overview;
use crate::docs::{self, PAGES};

/// Shows a page of the documentation, or lists all commands and pages.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  fishplate help\n  fishplate help settings\n  fishplate help run | less")]
pub struct Args {
    /// Topic of the page: a subcommand, or another one
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,

    /// Subcommands of that subcommand, which have its page
    #[arg(hide = true)]
    rest: Vec<String>,
}

/// The command, `program` being all of the command line.
pub fn run(args: &Args, mut program: Command) -> Result<ExitCode> {
    let text = match &args.topic {
        Some(topic) => about(topic, &mut program)?,
        None => format!("{}\n{}\n{}", program.render_help(), overview::others(&program), list(&program)),
    };
    match io::stdout().write_all(text.as_bytes()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of `topic`, or the help of a subcommand that has no page.
fn about(topic: &str, program: &mut Command) -> Result<String> {
    if let Some(page) = docs::find(topic) {
        // Comments are for `make numbers`.
        return Ok(page.text.split_inclusive('\n').filter(|line| !line.starts_with("<!--")).collect());
    }
    program.build();
    if let Some(subcommand) = program.find_subcommand_mut(topic).filter(|subcommand| !subcommand.is_hide_set()) {
        return Ok(subcommand.render_long_help().to_string());
    }
    let proposal = docs::nearest(topic).map_or(String::new(), |near| format!("; is \"{near}\" meant?"));
    Err(anyhow!("no page is about \"{topic}\"{proposal} (`fishplate help` lists them)"))
}

/// The topics that are no subcommands, with the titles of their pages, by folder.
fn list(program: &Command) -> String {
    let mut text =
        String::from("`fishplate help TOPIC` shows the page of the documentation about a subcommand, or about:\n");
    let mut folder = "";
    for page in PAGES.iter().filter(|page| program.find_subcommand(page.topic).is_none()) {
        if page.folder != folder {
            folder = page.folder;
            text += &format!("\n{folder}\n");
        }
        text += &format!("  {:14} {}\n", page.topic, page.title());
    }
    text
}
