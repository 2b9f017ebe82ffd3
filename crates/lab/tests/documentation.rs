//! The documentation says what the program and the build say.

use std::fs;
use std::path::Path;

use fishplate_rails::settings::VARIABLES;

fn page(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn every_setting_is_documented_as_it_is() {
    let settings = page("docs/settings.md");
    for variable in VARIABLES {
        let row =
            format!("| `{}` | {} | {} | {} |", variable.name, variable.meaning, variable.allowed, variable.default);
        assert!(settings.contains(&row), "docs/settings.md lacks this row:\n{row}");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().flatten().map(|entry| entry.path());
    let pages = docs.chain([root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("CHANGELOG.md")]);
    for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(page.parent().unwrap().join(target).exists(), "{}: {link} is not there", page.display());
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
