//! `fishplate --help`: the commands that users ask for, in groups, on one screen.

use std::fmt::Write;

use clap::Command;
use clap::builder::styling::{Style, Styles};

/// Columns from the beginning of a command's name to that of its line.
const NAME_COLUMNS: usize = 12;

/// Headings, and their commands in order. `fishplate help` lists all others.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Run", &["setup", "run", "env"]),
    ("Look", &["rails", "doctor", "top", "trace"]),
    ("Measure", &["profile", "rpi", "demo", "bench", "report", "compare"]),
    ("Predict", &["predict"]),
    ("Make networks", &["lab", "testbed"]),
];

/// Clap's template of `fishplate --help`; `program` has all commands.
pub fn template(program: &Command) -> String {
    let styles = Styles::styled();
    let (heading, literal) = (*styles.get_header(), *styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for (name, members) in GROUPS {
        let _ = writeln!(text, "{heading}{name}:{heading:#}");
        members
            .iter()
            .filter_map(|name| program.find_subcommand(name))
            .for_each(|command| line(command, literal, &mut text));
    }
    text + "\n`fishplate COMMAND --help` shows a command's options, `fishplate help` lists\n\
            further commands and the pages of the documentation, `fishplate --version`\n\
            shows the version.\n"
}

/// A heading with the commands that users may call and `--help` does not list.
pub fn others(program: &Command) -> String {
    let is_listed = |name: &str| GROUPS.iter().any(|(_, members)| members.contains(&name));
    let mut text = String::from("Further commands:\n");
    program
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && !is_listed(command.get_name()))
        .for_each(|command| line(command, Style::new(), &mut text));
    text
}

/// A command's name and the first line of its help.
fn line(command: &Command, style: Style, text: &mut String) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, "  {style}{:NAME_COLUMNS$}{style:#}{about}", command.get_name());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;

    #[test]
    fn the_commands_that_users_ask_for_fit_a_screen() {
        let help = Cli::program().render_help().to_string();
        assert!(help.contains("fishplate --version"), "{help}");
        assert!((24..=30).contains(&help.lines().count()), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let names: Vec<&str> = GROUPS.iter().flat_map(|(_, members)| *members).copied().collect();
        assert!(names.len() <= 16, "{} commands", names.len());
        for name in names {
            assert_eq!(
                help.lines().filter(|line| line.starts_with(&format!("  {name} "))).count(),
                1,
                "{name}: {help}"
            );
        }
    }

    #[test]
    fn every_command_is_grouped_or_further_or_the_programs_own() {
        let program = Cli::program();
        let (help, others) = (Cli::program().render_help().to_string(), others(&program));
        for command in program.get_subcommands() {
            let start = format!("  {} ", command.get_name());
            let is_in = |text: &str| text.lines().any(|line| line.starts_with(&start));
            let places = usize::from(is_in(&help)) + usize::from(is_in(&others));
            assert_eq!(places, usize::from(!command.is_hide_set()), "{}", command.get_name());
        }
    }
}
