//! The documentation says what the program and the build say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fishplate_rails::settings::VARIABLES;

fn page(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn every_setting_is_documented_as_it_is() {
    let settings = page("docs/reference/settings.md");
    for variable in VARIABLES {
        let row =
            format!("| `{}` | {} | {} | {} |", variable.name, variable.meaning, variable.allowed, variable.default);
        assert!(settings.contains(&row), "docs/reference/settings.md lacks this row:\n{row}");
    }
}

#[test]
fn measured_tables_are_those_of_the_records() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fishplate"));
    command.args(["write-numbers", "--check"]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let ran = command.output().unwrap();
    let told = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(ran.status.success(), "{told}");
}

/// All Markdown files below a folder, but for what was built or fetched.
fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() && !name.starts_with('.') && !["target", "build", "__pycache__"].contains(&name.as_str()) {
            markdown(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// What GitHub calls the place of a heading.
fn fragment(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Places that a link to a page can name.
fn fragments(page: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if !is_code && heading.starts_with(' ') && heading.len() < line.len() {
            let heading = heading.split("](").next().unwrap_or_default();
            found.push(fragment(heading));
        }
    }
    found
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = Vec::new();
    markdown(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &mut pages);
    assert!(pages.len() > 50, "the project has more pages than {pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} is not there", page.display());
            if !place.is_empty() {
                let places = fragments(&fs::read_to_string(&target).unwrap());
                assert!(places.iter().any(|name| name == place), "{}: {link}: no such heading", page.display());
            }
        }
    }
}

/// The changelog's newest release, and the benchmark programs, have the version of the workspace.
#[test]
fn there_is_one_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = page("CHANGELOG.md");
    let releases = changelog.lines().filter_map(|line| line.strip_prefix("## ["));
    let newest = releases.filter_map(|line| line.split(']').next()).find(|name| *name != "Unreleased");
    assert_eq!(newest, Some(version), "CHANGELOG.md");
    let bench = format!("#define BENCH_VERSION \"{version}\"");
    assert!(page("bench/common/options.h").contains(&bench), "bench/common/options.h lacks {bench}");
}

/// `make help` names every target that is for people: all phony ones but those of one stack.
#[test]
fn make_help_names_every_target() {
    let makefile = page("Makefile");
    let phony = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY:")).flat_map(str::split_whitespace);
    let targets = phony.filter(|target| target.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    for target in targets.filter(|target| !["help", "build"].contains(target)) {
        let told = makefile.lines().any(|line| line.contains("@echo") && line.contains(&format!("make {target} ")));
        assert!(told, "make help says nothing of {target}");
    }
}
