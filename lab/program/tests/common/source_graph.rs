//! The graph of a crate's files: which file names an item of which other file.
//!
//! It is read from the text: `use` declarations, and paths that begin with `crate`, `super`, `self` or a child module. A
//! name that a module re-exports counts for the file that defines it. Tests inside of files do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module by the names on its path; the root is empty.
pub type Module = Vec<String>;

/// Files of a crate, and the others that each uses.
pub type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// A file's text, as far as this test reads it.
struct File {
    /// Paths of `use` declarations, with the name that each introduces, and whether it is re-exported.
    uses: Vec<(Vec<String>, String, bool)>,
    /// Other paths.
    paths: Vec<Vec<String>>,
}

/// Reads the crate in `source`, a folder `src`.
pub fn read(source: &Path) -> Graph {
    let mut files = BTreeMap::new();
    read_folder(source, &mut Vec::new(), &mut files);
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let mut graph = Graph::new();
    for (module, file) in &files {
        let used = file.uses.iter().map(|(path, ..)| path).chain(&file.paths);
        let absolute = used.filter_map(|path| absolute(module, path, &modules));
        let mut others: BTreeSet<Module> = absolute.map(|path| definer(&path, &files, &modules, 0)).collect();
        others.remove(module);
        graph.insert(module.clone(), others);
    }
    graph
}

/// Whether one of two modules is inside of the other.
pub fn is_family(one: &[String], other: &[String]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// `channel/scheduler`; the root is `lib`.
pub fn name(module: &[String]) -> String {
    if module.is_empty() { "lib".into() } else { module.join("/") }
}

fn read_folder(folder: &Path, module: &mut Module, files: &mut BTreeMap<Module, File>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(stem);
            read_folder(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            let mut own = module.clone();
            if !["mod", "lib", "main"].contains(&stem.as_str()) {
                own.push(stem);
            }
            files.insert(own, parse(&fs::read_to_string(&path).unwrap()));
        }
    }
}

fn parse(text: &str) -> File {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut file = File { uses: Vec::new(), paths: Vec::new() };
    let mut rest = String::new();
    for statement in code.split_inclusive(';') {
        match declaration(statement) {
            Some((before, tree, is_public)) => {
                rest += before;
                let mut leaves = Vec::new();
                expand(tree, &[], &mut leaves);
                file.uses.extend(leaves.into_iter().map(|(path, name)| (path, name, is_public)));
            }
            None => rest += statement,
        }
    }
    file.paths = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).filter_map(path).collect();
    file
}

/// A statement that ends with a `use` declaration: the text in front of it, its tree, and whether it re-exports.
fn declaration(statement: &str) -> Option<(&str, &str, bool)> {
    let tree = statement.strip_suffix(';')?;
    let at = if tree.starts_with("use ") { 0 } else { tree.rfind("\nuse ").or(tree.rfind(" use "))? + 1 };
    let visibility = tree[..at].rsplit('\n').next().unwrap_or_default().trim();
    let is_declaration = visibility.is_empty() || visibility.starts_with("pub");
    is_declaration.then(|| (&tree[..at], tree[at + 4..].trim(), !visibility.is_empty()))
}

/// The paths of a tree such as `a::{b, c as d}`.
fn expand(tree: &str, prefix: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let split = |text: &str| {
        text.split("::").map(|word| word.trim().to_string()).filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    if let Some((before, inside)) = tree.split_once('{') {
        let prefix = [prefix, &split(before)].concat();
        let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
        let mut depth = 0;
        let is_border = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        };
        inside.split(is_border).filter(|part| !part.trim().is_empty()).for_each(|part| expand(part, &prefix, leaves));
        return;
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let mut path = [prefix, &split(path)].concat();
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    let name = alias.map(String::from).or(path.last().cloned()).unwrap_or_default();
    leaves.push((path, name));
}

/// A word of code as a path, if it has several parts.
fn path(word: &str) -> Option<Vec<String>> {
    let parts: Vec<String> = word.split("::").map(String::from).collect();
    (parts.len() > 1 && !parts[0].is_empty()).then(|| parts.into_iter().filter(|part| !part.is_empty()).collect())
}

/// The path from the crate's root; nothing for paths into other crates and for names of the file.
fn absolute(module: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Vec<String>> {
    let child = || [module.as_slice(), &path[..1]].concat();
    match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            let base = module.get(..module.len().checked_sub(ups)?)?;
            Some([base, &path[ups..]].concat())
        }
        _ if modules.contains(&child()) => Some([module, path].concat()),
        _ => None,
    }
}

/// The module that defines what a path names.
fn definer(path: &[String], files: &BTreeMap<Module, File>, modules: &BTreeSet<Module>, depth: u32) -> Module {
    let module = (0..=path.len()).rev().map(|len| &path[..len]).find(|module| modules.contains(*module)).unwrap();
    let Some(item) = path.get(module.len()) else { return module.to_vec() };
    let exported = files[module].uses.iter().filter(|(.., is_public)| *is_public).find(|(_, name, _)| name == item);
    let exported = exported.and_then(|(target, ..)| absolute(&module.to_vec(), target, modules));
    match exported {
        Some(target) if depth < 8 => definer(&[&target, &path[module.len() + 1..]].concat(), files, modules, depth + 1),
        _ => module.to_vec(),
    }
}

/// Groups of files in which each reaches each other; a single file is none.
pub fn circles(graph: &Graph) -> Vec<BTreeSet<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for from in graph.keys() {
        let back = |to: &&&Module| reach.get(**to).is_some_and(|reached| reached.contains(from));
        let group: BTreeSet<Module> = reach[from].iter().filter(back).map(|to| (*to).clone()).collect();
        if group.len() > 1 && !found.contains(&group) {
            found.push(group);
        }
    }
    found
}

fn reachable<'a>(graph: &'a Graph, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = graph[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(graph.get(module).into_iter().flatten());
        }
    }
    reached
}
