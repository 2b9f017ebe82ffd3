//! Which crate may depend on which, which files may use each other, and where unsafe code may be
//! (docs/internals/architecture.md).

#[path = "common/source_graph.rs"]
mod source_graph;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use source_graph::{Graph, Module};

/// Crates of the workspace with their folders, what of the workspace each may use, and where it may be unsafe.
const HOUSE: &[(&str, &str, &[&str], Unsafe)] = &[
    ("fishplate-collectives", "transport/collectives", &[], Unsafe::Nowhere),
    ("fishplate-engine", "transport/engine", &[], Unsafe::Nowhere),
    ("fishplate-guest", "transport/guest", &[], Unsafe::Nowhere),
    ("fishplate-host", "transport/host", &[], Unsafe::Nowhere),
    (
        "fishplate-interpose",
        "transport/interpose",
        &["fishplate-collectives", "fishplate-profile", "fishplate-guest", "fishplate-host", "fishplate-trace"],
        Unsafe::In("src/ffi"),
    ),
    ("fishplate-link", "lab/link", &[], Unsafe::Nowhere),
    ("fishplate-link-core", "transport/link-core", &["fishplate-engine"], Unsafe::In("src/sys")),
    ("fishplate-longbow", "lab/longbow", &["fishplate-link"], Unsafe::In("src/sys")),
    ("fishplate-mpi-trial", "lab/mpi-trial", &[], Unsafe::In("src/sys")),
    ("fishplate-profile", "lab/profile", &["fishplate-host"], Unsafe::Nowhere),
    (
        "fishplate-rails",
        "transport/rails",
        &[
            "fishplate-engine",
            "fishplate-guest",
            "fishplate-host",
            "fishplate-link-core",
            "fishplate-rails-ofi",
            "fishplate-rails-shm",
        ],
        Unsafe::In("src/sys"),
    ),
    (
        "fishplate-rails-ofi",
        "transport/rails-ofi",
        &["fishplate-engine", "fishplate-link-core", "ofi-abi"],
        Unsafe::In("src/sys"),
    ),
    ("fishplate-rails-shm", "transport/rails-shm", &["fishplate-engine", "fishplate-link-core"], Unsafe::In("src/sys")),
    ("ofi-abi", "transport/ofi-abi", &[], Unsafe::Nowhere),
    (
        "fishplate-provider",
        "transport/provider",
        &["fishplate-engine", "fishplate-rails", "fishplate-rails-ofi", "fishplate-guest", "ofi-abi"],
        Unsafe::In("src/ffi"),
    ),
    (
        "fishplate-sim",
        "lab/sim",
        &["fishplate-engine", "fishplate-link", "fishplate-collectives", "fishplate-trace"],
        Unsafe::Nowhere,
    ),
    ("fishplate-trace", "lab/trace", &["fishplate-host"], Unsafe::Nowhere),
    (
        "fishplate-fuzz",
        "fuzz",
        &["fishplate-engine", "fishplate-rails", "fishplate-rails-ofi", "fishplate-rails-shm"],
        Unsafe::Nowhere,
    ),
    (
        "fishplate-lab",
        "lab/program",
        &[
            "fishplate-collectives",
            "fishplate-guest",
            "fishplate-host",
            "fishplate-longbow",
            "fishplate-mpi-trial",
            "fishplate-profile",
            "fishplate-rails",
            "fishplate-rails-ofi",
            "fishplate-sim",
            "fishplate-trace",
        ],
        Unsafe::Nowhere,
    ),
];

/// Unsafe blocks elsewhere: files, how many, and why.
const EXCEPTIONS: &[(&str, usize, &str)] =
    &[("transport/rails/src/endpoint/mod.rs", 1, "`Endpoint::open` hands its caller's promise about memory on")];

/// Folders of one idea, whose files may use each other in circles: crate, folder ("" is the whole crate), and why.
const ONE_IDEA: &[(&str, &str, &str)] =
    &[("transport/ofi-abi", "", "structures of libfabric's headers, which point to each other")];

/// Uses that close a circle between files of different ideas: crate, file, what it uses, and why. None is to be added.
const CIRCLES: &[(&str, &str, &str, &str)] = &[];

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

/// Files may not use each other in circles, but for a module and its submodules.
#[test]
fn files_do_not_use_each_other_in_circles() {
    let wrong: Vec<String> = HOUSE.iter().flat_map(|(_, folder, ..)| wrong_with_uses_in(folder)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Circles in a crate, and exceptions of it that are not needed.
fn wrong_with_uses_in(folder: &str) -> Vec<String> {
    let graph = source_graph::read(&root().join(folder).join("src"));
    let module = |name: &str| if name == "lib" { Vec::new() } else { name.split('/').map(String::from).collect() };
    let excepted = CIRCLES.iter().filter(|(name, ..)| *name == folder);
    let mut without = graph.clone();
    let mut wrong = Vec::new();
    for (_, from, to, _) in excepted.clone() {
        if !without.get_mut(&module(from)).is_some_and(|used| used.remove(&module(to))) {
            wrong.push(format!("{folder}: {from} does not use {to} any more: take it out of CIRCLES"));
        }
    }
    let found = circles(folder, &without);
    wrong.extend(found.iter().map(|circle| format!("{folder}: these files use each other in circles: {circle}")));
    for (_, from, to, _) in excepted {
        let mut with_it = without.clone();
        with_it.entry(module(from)).or_default().insert(module(to));
        if circles(folder, &with_it).len() == found.len() {
            wrong.push(format!("{folder}: {from} and {to} are in no circle any more: take them out of CIRCLES"));
        }
    }
    for (_, idea, _) in ONE_IDEA.iter().filter(|(name, ..)| *name == folder) {
        if !all_circles(&without).iter().any(|circle| is_inside(circle, idea)) {
            wrong.push(format!("{folder}: no circle is in \"{idea}\" any more: take it out of ONE_IDEA"));
        }
    }
    wrong
}

/// The circles of a crate that no folder of one idea allows, each as text.
fn circles(folder: &str, graph: &Graph) -> Vec<String> {
    let is_one_idea =
        |circle: &BTreeSet<Module>| ONE_IDEA.iter().any(|(name, idea, _)| *name == folder && is_inside(circle, idea));
    let text =
        |circle: BTreeSet<Module>| circle.iter().map(|file| source_graph::name(file)).collect::<Vec<_>>().join(" - ");
    all_circles(graph).into_iter().filter(|circle| !is_one_idea(circle)).map(text).collect()
}

/// Circles among files of which none is inside of another, and those that close by way of a parent.
fn all_circles(graph: &Graph) -> Vec<BTreeSet<Module>> {
    let mut apart = graph.clone();
    for (module, used) in &mut apart {
        used.retain(|other| !source_graph::is_family(module, other));
    }
    let has_root =
        |circle: &BTreeSet<Module>| circle.iter().any(|root| circle.iter().all(|file| file.starts_with(root)));
    let through_parents = source_graph::circles(graph).into_iter().filter(|circle| !has_root(circle));
    source_graph::circles(&apart).into_iter().chain(through_parents).collect()
}

fn is_inside(circle: &BTreeSet<Module>, folder: &str) -> bool {
    circle.iter().all(|file| folder.is_empty() || file.first().is_some_and(|first| first == folder))
}

#[test]
fn unsafe_code_is_only_where_it_may_be() {
    for (name, folder, _, place) in HOUSE {
        let source = root().join(folder);
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
