//! Commands in the documentation and in `--help` are ones that the programs take: subcommands, options and values of
//! `fishplate`, options of benchmark programs and scripts, targets of `make`.

mod shell;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory};

use super::Cli;

/// Place of a command in the documentation, and its words.
struct Example {
    place: String,
    words: Vec<String>,
    /// In a sentence a command may lack what it requires.
    is_whole: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages for people.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for name in ["README.md", "CONTRIBUTING.md", "tests/README.md", "fuzz/README.md"] {
        pages.push(root().join(name));
    }
    for folder in fs::read_dir(root().join("docs")).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let files = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|ending| ending == "md")));
    }
    pages.sort();
    pages
}

/// The commands of a page: lines of its fenced blocks for a shell, and code in sentences that begins with `fishplate`.
fn examples_of_page(page: &Path) -> Vec<Example> {
    let text = fs::read_to_string(page).unwrap();
    let name = page.strip_prefix(root()).unwrap().display();
    let mut examples = Vec::new();
    let mut sentences = String::new();
    let mut fence: Option<&str> = None;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        match (fence, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language),
            (Some(_), Some(_)) => fence = None,
            // Indented lines are output, or a drawing.
            (Some("" | "sh"), None) if !line.starts_with(' ') => {
                let mut command = line.strip_prefix("$ ").unwrap_or(line).to_string();
                while command.ends_with('\\') {
                    command.pop();
                    command += lines.next().map_or("", |(_, more)| more.trim_start());
                }
                let words = shell::commands(&command).into_iter();
                examples.extend(words.map(|words| Example {
                    place: format!("{name}:{}", index + 1),
                    words,
                    is_whole: true,
                }));
            }
            (Some(_), None) => {}
            (None, None) => sentences += &format!("{line}\n"),
        }
    }
    for code in sentences.split('`').skip(1).step_by(2).filter(|code| code.starts_with("fishplate ")) {
        let words = shell::commands(&code.replace('\n', " ").replace("\\|", "|")).into_iter();
        examples.extend(words.map(|words| Example { place: format!("{name}: `{code}`"), words, is_whole: false }));
    }
    examples
}

/// The examples of `--help` of a command and of its subcommands.
fn examples_of_help(command: &Command, examples: &mut Vec<Example>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    for line in lines.take_while(|line| line.starts_with("  ")) {
        let place = format!("fishplate {} --help", command.get_name());
        let words = shell::commands(line.trim()).into_iter();
        examples.extend(words.map(|words| Example { place: place.clone(), words, is_whole: true }));
    }
    command.get_subcommands().for_each(|subcommand| examples_of_help(subcommand, examples));
}

fn all_examples() -> Vec<Example> {
    let mut examples: Vec<Example> = pages().iter().flat_map(|page| examples_of_page(page)).collect();
    examples_of_help(&Cli::command(), &mut examples);
    examples
}

/// The arguments behind each occurrence of a program as a command in `words`.
fn after(words: &[String], is_program: impl Fn(&str) -> bool) -> Vec<&[String]> {
    let is_value = |index: usize| index > 0 && words[index - 1].starts_with('-') && words[index - 1] != "--";
    let places = (0..words.len()).filter(|index| is_program(&words[*index]) && !is_value(*index));
    places.map(|index| &words[index + 1..]).collect()
}

/// Why the program does not take these arguments.
fn refusal(arguments: &[String], is_whole: bool) -> Option<String> {
    let arguments = ["fishplate"].into_iter().chain(arguments.iter().map(String::as_str));
    match Cli::command().try_get_matches_from(arguments) {
        Ok(matches) => swallowed(&Cli::command(), &matches),
        Err(error) => {
            let text = error.to_string();
            let is_cut_short = match error.kind() {
                ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
                ErrorKind::InvalidValue => text.contains("but none was supplied") || names_a_placeholder(&text),
                _ => false,
            };
            let is_fine = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let text = text.lines().next().unwrap_or_default().to_string();
            (!is_fine && (is_whole || !is_cut_short)).then_some(text)
        }
    }
}

/// Whether the value that an error names stands for one of the reader's: NAME.
fn names_a_placeholder(error: &str) -> bool {
    error.split('\'').nth(1).is_some_and(|value| value.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// The option that was taken for the beginning of COMMAND, as it is none of the program's.
fn swallowed(command: &Command, matches: &ArgMatches) -> Option<String> {
    if let Some((name, inner)) = matches.subcommand() {
        return swallowed(command.find_subcommand(name)?, inner);
    }
    let trailing = command.get_arguments().find(|argument| argument.is_trailing_var_arg_set())?;
    let first = matches.get_raw(trailing.get_id().as_str())?.next()?.to_string_lossy();
    first.starts_with('-').then(|| format!("{} has no option {first}", command.get_name()))
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn fishplate_takes_documented_arguments() {
    let examples = all_examples();
    let (mut seen, mut wrong) = (0, Vec::new());
    for Example { place, words, is_whole } in &examples {
        for arguments in after(words, |word| word.rsplit('/').next() == Some("fishplate") && !word.contains('=')) {
            // A synopsis, and a folder of the name.
            if arguments.is_empty() || arguments.iter().any(|word| word.starts_with("[--")) {
                continue;
            }
            seen += 1;
            wrong.extend(refusal(arguments, *is_whole).map(|refusal| format!("{place}: {refusal}")));
        }
    }
    assert_none(&wrong);
    assert!(seen > 300, "only {seen} commands were found");
}

/// A test that finds nothing has to be able to find something.
#[test]
fn unknown_arguments_are_found() {
    let wrong = |line: &str| {
        let commands = shell::commands(line);
        let arguments = commands.iter().flat_map(|words| after(words, |word| word == "fishplate"));
        arguments.filter_map(|arguments| refusal(arguments, true)).collect::<Vec<_>>()
    };
    for line in [
        "fishplate run --rales a -- mpiexec ./app",
        "fishplate lab begin",
        "X=1 fishplate testbed --rails 1000,fast -- true",
        "eval \"$(fishplate env --fromat json)\"",
        "fishplate testbed -- sh -c 'true; fishplate top --onse'",
        "fishplate testbed --rails 1000 -- fishplate doctor --forever",
        "fishplate predict run1",
    ] {
        assert_eq!(wrong(line).len(), 1, "{line}: {:?}", wrong(line));
    }
    for line in ["fishplate top --once  # --forever", "fishplate run -- ./app --rales"] {
        assert!(wrong(line).is_empty(), "{line}: {:?}", wrong(line));
    }
}

/// Options among words, without their values; those before the program that a launcher or wrapper starts are its own.
fn options(words: &[String]) -> impl Iterator<Item = &str> {
    let long = words.iter().filter(|word| word.starts_with("--") && word.len() > 2);
    long.map(|word| word.split('=').next().unwrap_or_default())
}

#[test]
fn benchmark_programs_take_documented_options() {
    let specs = fs::read_to_string(root().join("bench/common/option_specs.c")).unwrap();
    let known: BTreeSet<&str> = specs.split("{\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let programs: BTreeSet<String> = ["bench/programs", "apps/nas", "apps/search", "apps/visualization"]
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap().flatten())
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".c").map(String::from))
        .collect();
    let is_program = |word: &str| programs.contains(word.rsplit('/').next().unwrap_or_default());
    let (mut seen, mut wrong) = (0, Vec::new());
    for Example { place, words, .. } in &all_examples() {
        // Benchmarks that `fishplate` measures or simulates by name are arguments of its own.
        let is_started = |word: &str| ["mpiexec", "srun"].contains(&word) || word.contains("build/");
        if !words.iter().any(|word| is_started(word)) {
            continue;
        }
        for arguments in after(words, is_program) {
            seen += 1;
            let unknown = options(arguments).filter(|option| !known.contains(option));
            wrong.extend(unknown.map(|option| format!("{place}: no program has {option}")));
        }
    }
    assert_none(&wrong);
    assert!(seen > 10, "only {seen} programs were found");
}

#[test]
fn scripts_that_are_documented_take_their_options() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for Example { place, words, .. } in &all_examples() {
        let is_script =
            |word: &str| [".ci/", "bench/", "packaging/", "tests/"].iter().any(|folder| word.starts_with(folder));
        for (index, script) in words.iter().enumerate().filter(|(_, word)| is_script(word)) {
            if index > 0 && words[index - 1].starts_with('-') && words[index - 1] != "--" {
                continue;
            }
            seen += 1;
            let Ok(text) = fs::read_to_string(root().join(script)) else {
                wrong.push(format!("{place}: {script} is not there"));
                continue;
            };
            // Up to what a script starts in turn.
            let own = words[index + 1..]
                .iter()
                .take_while(|word| !["fishplate", "salloc", "mpiexec"].contains(&word.as_str()));
            let own: Vec<String> = own.cloned().collect();
            let unknown = options(&own).filter(|option| !text.contains(option));
            wrong.extend(unknown.map(|option| format!("{place}: {script} has no {option}")));
        }
    }
    assert_none(&wrong);
    assert!(seen > 3, "only {seen} scripts were found");
}

#[test]
fn make_has_the_targets_that_are_documented() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for Example { place, words, .. } in &all_examples() {
        let Some(arguments) = words.first().filter(|first| *first == "make").map(|_| &words[1..]) else { continue };
        let folder = arguments.iter().skip_while(|word| *word != "-C").nth(1).map_or("", String::as_str);
        let Ok(mut makefile) = fs::read_to_string(root().join(folder).join("Makefile")) else { continue };
        if makefile.contains("rules.mk") {
            makefile += &fs::read_to_string(root().join("bench/rules.mk")).unwrap();
        }
        seen += 1;
        let has_target = |name: &str| {
            let mut rules = makefile.lines().filter(|line| !line.starts_with(['\t', '#']));
            rules
                .any(|line| line.split(':').next().is_some_and(|names| names.split_whitespace().any(|one| one == name)))
        };
        for argument in arguments.iter().filter(|word| !word.starts_with('-') && *word != folder) {
            let is_known = match argument.split_once('=') {
                Some((variable, _)) => makefile.contains(variable),
                None => has_target(argument),
            };
            if !is_known {
                wrong.push(format!("{place}: make has no {argument}"));
            }
        }
    }
    assert_none(&wrong);
    assert!(seen > 20, "only {seen} calls of make were found");
}
