//! `fishplate completion`, and the manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::system::{output_file, private_folder};

/// Prints the definitions for a shell to complete the command line of fishplate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  eval \"$(fishplate completion bash)\"      (in ~/.bashrc)
  fishplate completion zsh > \"${fpath[1]}/_fishplate\"
  fishplate completion fish > ~/.config/fish/completions/fishplate.fish")]
pub struct Completion {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Writes the manual pages.
#[derive(clap::Args)]
pub struct WriteManual {
    /// Their folder, which is made if it does not exist
    folder: PathBuf,
}

/// Prints the completion, `program` being all of the command line.
pub fn print(args: &Completion, program: Command) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&program), "fishplate", &mut text);
    io::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for the program and one for each subcommand.
pub fn write_manual(args: &WriteManual, program: &Command) -> Result<ExitCode> {
    let made = private_folder::make("fishplate-manual-").context("cannot make a temporary folder")?;
    clap_mangen::generate_to(shown(program), made.path()).context("cannot make manual pages")?;
    output_file::make_folder(&args.folder).with_context(|| format!("cannot write to {}", args.folder.display()))?;
    for page in fs::read_dir(made.path()).context("cannot make manual pages")?.flatten() {
        let text = fs::read(page.path()).context("cannot make manual pages")?;
        output_file::put(&args.folder.join(page.file_name()), text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command line without the hidden subcommands.
fn shown(program: &Command) -> Command {
    let hidden = program.get_subcommands().filter(|command| command.is_hide_set());
    let mut shown = Command::new("fishplate").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    if let Some(about) = program.get_about() {
        shown = shown.about(about.clone());
    }
    let hidden: Vec<&str> = hidden.map(Command::get_name).collect();
    shown.subcommands(program.get_subcommands().filter(|command| !hidden.contains(&command.get_name())).cloned())
}
