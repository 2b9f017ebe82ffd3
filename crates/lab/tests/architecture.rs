//! Which crate may depend on which, and where unsafe code may be (docs/architecture.md).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates of the workspace with their folders, what of the workspace each may use, and where it may be unsafe.
const HOUSE: &[(&str, &str, &[&str], Unsafe)] = &[
    ("fishplate-collectives", "collectives", &[], Unsafe::Nowhere),
    ("fishplate-engine", "engine", &[], Unsafe::Nowhere),
    ("fishplate-interpose", "interpose", &["fishplate-collectives"], Unsafe::In("src/ffi")),
    ("fishplate-link", "link", &[], Unsafe::Nowhere),
    ("fishplate-longbow", "longbow", &["fishplate-link"], Unsafe::In("src/sys")),
    ("fishplate-rails", "rails", &["fishplate-engine"], Unsafe::In("src/sys")),
    ("ofi-abi", "ofi-abi", &[], Unsafe::Nowhere),
    ("fishplate-provider", "provider", &["fishplate-engine", "fishplate-rails", "ofi-abi"], Unsafe::In("src/ffi")),
    ("fishplate-sim", "sim", &["fishplate-engine", "fishplate-link", "fishplate-collectives"], Unsafe::Nowhere),
    ("fishplate-fuzz", "../fuzz", &["fishplate-engine", "fishplate-rails"], Unsafe::Nowhere),
    (
        "fishplate-lab",
        "lab",
        &["fishplate-collectives", "fishplate-longbow", "fishplate-rails", "fishplate-sim"],
        Unsafe::Nowhere,
    ),
];

/// Unsafe blocks elsewhere: files, how many, and why.
const EXCEPTIONS: &[(&str, usize, &str)] =
    &[("crates/rails/src/endpoint/mod.rs", 1, "`Endpoint::open` hands its caller's promise about memory on")];

#[derive(Clone, Copy)]
enum Unsafe {
    /// The crate forbids it.
    Nowhere,
    /// In this folder; declarations of unsafe functions, which only state a contract, also elsewhere.
    In(&'static str),
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn crates_use_only_what_they_may() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]).current_dir(root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let members: BTreeSet<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let known: BTreeSet<String> = HOUSE.iter().map(|(name, ..)| name.to_string()).collect();
    assert_eq!(members, known, "crates of the workspace, and crates in the table of this test");
    for package in packages {
        let name = text(&package["name"]);
        let (_, _, allowed, _) = HOUSE.iter().find(|(known, ..)| *known == name).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = text(&dependency["name"]);
            let fine = !members.contains(&used) || allowed.contains(&used.as_str());
            assert!(fine, "{name} must not depend on {used}");
        }
    }
}

#[test]
fn unsafe_code_is_only_where_it_may_be() {
    for (name, folder, _, place) in HOUSE {
        let source = root().join("crates").join(folder);
        let main = ["src/lib.rs", "src/main.rs"].map(|file| source.join(file)).into_iter().find(|file| file.exists());
        let main = fs::read_to_string(main.unwrap()).unwrap();
        match place {
            Unsafe::Nowhere => assert!(main.contains("#![forbid(unsafe_code)]"), "{name} must forbid unsafe code"),
            Unsafe::In(allowed) => {
                assert!(main.contains("#![deny(unsafe_code)]"), "{name} must deny unsafe code");
                for file in sources(&source.join("src")) {
                    if !file.starts_with(source.join(allowed)) {
                        assert_safe(&file);
                    }
                }
            }
        }
    }
}

fn assert_safe(file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let is_unsafe = |line: &&str| {
        let code = line.split("//").next().unwrap_or_default();
        ["unsafe {", "unsafe impl", "unsafe extern", "unsafe(no_mangle)"].iter().any(|form| code.contains(form))
    };
    let found = text.lines().filter(is_unsafe).count();
    let excepted = EXCEPTIONS.iter().find(|(name, ..)| file.ends_with(name)).map_or(0, |(_, count, _)| *count);
    assert!(found <= excepted, "{}: {found} places of unsafe code outside of its folder", file.display());
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
