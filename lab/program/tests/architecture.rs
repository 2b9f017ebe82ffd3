//! Which crate may depend on which, which files may use each other, and where unsafe code may be
//! (docs/internals/architecture.md).

#[path = "common/source_graph.rs"]
mod source_graph;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use source_graph::{Graph, Module};

/// Crates of the workspace, whose names begin with `fishplate-` unless they have a hyphen in front here: folder, name, where
/// it may be unsafe (`-`: it forbids that), and which others it may use.
const HOUSE: &str = "
transport/collectives  collectives  -
transport/engine       engine       -
transport/guest        guest        -
transport/host         host         -
transport/interpose    interpose    src/ffi  collectives profile guest host trace
lab/link               link         -
transport/link-core    link-core    src/sys  engine
lab/longbow            longbow      src/sys  link
lab/mpi-trial          mpi-trial    src/sys
lab/profile            profile      -        host
transport/rails        rails        src/sys  engine guest host link-core rails-ofi rails-shm
transport/rails-ofi    rails-ofi    src/sys  engine link-core -ofi-abi
transport/rails-shm    rails-shm    src/sys  engine link-core
transport/ofi-abi      -ofi-abi     -
transport/provider     provider     src/ffi  engine rails rails-ofi guest -ofi-abi
lab/sim                sim          -        engine link collectives trace
lab/trace              trace        -        host
fuzz                   fuzz         -        engine rails rails-ofi rails-shm
lab/program            lab          -        collectives guest host longbow mpi-trial profile rails rails-ofi sim trace";

/// Unsafe blocks elsewhere: files, how many, and why.
const EXCEPTIONS: &[(&str, usize, &str)] =
    &[("transport/rails/src/endpoint/mod.rs", 1, "`Endpoint::open` hands its caller's promise about memory on")];

/// Folders of one idea, whose files may use each other in circles: crate, folder ("" is the whole crate), and why.
const ONE_IDEA: &[(&str, &str, &str)] =
    &[("transport/ofi-abi", "", "structures of libfabric's headers, which point to each other")];

struct Crate {
    folder: &'static str,
    name: String,
    /// The folder that may have unsafe code; declarations of unsafe functions, which only state a contract, may be elsewhere.
    is_unsafe_in: Option<&'static str>,
    may_use: BTreeSet<String>,
}

/// The crates of [`HOUSE`].
fn house() -> Vec<Crate> {
    let name = |word: &str| word.strip_prefix('-').map_or_else(|| format!("fishplate-{word}"), String::from);
    let read = |line: &'static str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [folder, own, place, used @ ..] = &words[..] else { panic!("{line}") };
        let is_unsafe_in = Some(*place).filter(|place| *place != "-");
        Crate { folder, name: name(own), is_unsafe_in, may_use: used.iter().map(|word| name(word)).collect() }
    };
    HOUSE.trim().lines().map(read).collect()
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
    let house = house();
    let known: BTreeSet<String> = house.iter().map(|known| known.name.clone()).collect();
    assert_eq!(members, known, "crates of the workspace, and crates in the table of this test");
    for package in packages {
        let name = text(&package["name"]);
        let known = house.iter().find(|known| known.name == name).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = text(&dependency["name"]);
            let fine = !members.contains(&used) || known.may_use.contains(&used);
            assert!(fine, "{name} must not depend on {used}");
        }
    }
}

/// Files may not use each other in circles, but for a module and its submodules.
#[test]
fn files_do_not_use_each_other_in_circles() {
    let wrong: Vec<String> = house().iter().flat_map(|own| wrong_with_uses_in(own.folder)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Circles in a crate, and folders of one idea that have none.
fn wrong_with_uses_in(folder: &str) -> Vec<String> {
    let graph = source_graph::read(&root().join(folder).join("src"));
    let circles = circles(folder, &graph).into_iter();
    let mut wrong: Vec<String> =
        circles.map(|circle| format!("{folder}: these files use each other in circles: {circle}")).collect();
    for (_, idea, _) in ONE_IDEA.iter().filter(|(name, ..)| *name == folder) {
        if !all_circles(&graph).iter().any(|circle| is_inside(circle, idea)) {
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
    for Crate { folder, name, is_unsafe_in, .. } in house() {
        let source = root().join(folder);
        let main = ["src/lib.rs", "src/main.rs"].map(|file| source.join(file)).into_iter().find(|file| file.exists());
        let main = fs::read_to_string(main.unwrap()).unwrap();
        let Some(allowed) = is_unsafe_in else {
            assert!(main.contains("#![forbid(unsafe_code)]"), "{name} must forbid unsafe code");
            continue;
        };
        assert!(main.contains("#![deny(unsafe_code)]"), "{name} must deny unsafe code");
        let files = sources(&source.join("src"));
        files.iter().filter(|file| !file.starts_with(source.join(allowed))).for_each(|file| assert_safe(file));
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
