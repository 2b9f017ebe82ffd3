//! Why the library in front of MPI has seen nothing of a command's programs, or not of all their ranks: what their files, the
//! command and the notes tell that the library leaves (`fishplate_profile::notes`). It reports findings, or that there
//! are none.

mod command;
mod elsewhere;
mod program_file;
mod provider;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use fishplate_profile::notes::{self, BEGAN, LOADED, PAST};

use crate::output::text::named_ranks;
use command::Named;
pub use elsewhere::traffic_elsewhere;
pub use provider::why_unused;

/// Most programs that are named.
const MAX_NAMES: usize = 6;

/// Notes in a folder.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Programs that the library was loaded into.
    pub loaded: BTreeSet<PathBuf>,
    /// Processes that have begun MPI and left no file of a rank.
    pub began: Vec<notes::Began>,
    /// Programs of processes that began MPI past the library.
    pub past: BTreeSet<PathBuf>,
}

impl Notes {
    /// Reads them; what cannot be read is left out.
    pub fn read(folder: &Path) -> Notes {
        let mut notes = Notes::default();
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files {
            let Some(ending) = file.extension().and_then(OsStr::to_str) else { continue };
            let Ok(text) = fs::read(&file) else { continue };
            let text = String::from_utf8_lossy(&text);
            match ending {
                LOADED => drop(notes.loaded.insert(text.into_owned().into())),
                BEGAN => notes.began.push(notes::Began::decode(&text)),
                PAST => drop(notes.past.insert(text.into_owned().into())),
                _ => {}
            }
        }
        notes
    }
}

/// Why no process has begun MPI with the library in front of it: at least one sentence.
pub fn causes(command: &[String], notes: &Notes) -> Vec<String> {
    if !notes.past.is_empty() {
        return notes.past.iter().map(|program| began_past(program)).collect();
    }
    let stuck: Vec<&notes::Began> = notes.began.iter().filter(|began| began.library.is_none()).collect();
    if !stuck.is_empty() {
        let processes = if stuck.len() == 1 { "process" } else { "processes" };
        let (count, ranks) = (stuck.len(), ranks(&stuck));
        return vec![format!("{count} {processes}{ranks} called MPI_Init, which did not return")];
    }
    if let Some(library) = notes.began.iter().find_map(|began| began.library.as_ref()) {
        let version = &library.version;
        return vec![format!(
            "processes of \"{version}\" began MPI, and recorded nothing, for a reason in their error output"
        )];
    }
    let named = command::programs(command);
    let obstacles = obstacles(&named);
    if !obstacles.is_empty() {
        return obstacles;
    }
    let without: Vec<&Named> = named.iter().filter(|named| !notes.loaded.contains(&named.file)).collect();
    let dropped: BTreeSet<&String> = without.iter().filter_map(|named| named.dropped.as_ref()).collect();
    if !dropped.is_empty() {
        return dropped.into_iter().cloned().collect();
    }
    let with = names(notes.loaded.iter().map(PathBuf::as_path));
    let without = names(without.iter().map(|named| named.file.as_path()));
    vec![match (notes.loaded.is_empty(), without.is_empty()) {
        (true, _) => format!("it was loaded into no process here; {UNEXPLAINED}"),
        (false, false) => format!("it was loaded into {with}, but not into {without}; {UNEXPLAINED}"),
        (false, true) => format!("it was loaded into {with}, and none of these called MPI_Init"),
    }]
}

fn began_past(program: &Path) -> String {
    format!(
        "{} began MPI past the library: by PMPI_Init, or in a plug-in that sees its own libraries first (RTLD_DEEPBIND)",
        program.display()
    )
}

/// Causes that [`causes`] excludes.
const UNEXPLAINED: &str = "no check explains it; possible causes are files that are linked statically, are for another processor, \
    run as another user or have an MPI of their own; sudo, env -i, ssh, containers and another LD_PRELOAD in the command";

/// Obstacles to loading the library into the programs of a command, from the command and its files.
pub fn in_command(command: &[String]) -> Vec<String> {
    let named = command::programs(command);
    let dropped: BTreeSet<&String> = named.iter().filter_map(|named| named.dropped.as_ref()).collect();
    obstacles(&named).into_iter().chain(dropped.into_iter().cloned()).collect()
}

/// Obstacles in the files of a command's programs.
pub fn obstacles_of(command: &[String]) -> Vec<String> {
    obstacles(&command::programs(command))
}

fn obstacles(named: &[Named]) -> Vec<String> {
    named.iter().filter_map(|named| program_file::obstacle(&named.file)).collect()
}

/// In brackets: those whose launchers have set ranks.
fn ranks(stuck: &[&notes::Began]) -> String {
    let mut ranks: Vec<usize> = stuck.iter().filter_map(|began| began.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.is_empty() { String::new() } else { format!(" ({})", named_ranks(&ranks)) }
}

/// Names of programs.
fn names<'a>(files: impl Iterator<Item = &'a Path>) -> String {
    let all: BTreeSet<String> =
        files.map(|file| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()).collect();
    let shown: Vec<&str> = all.iter().take(MAX_NAMES).map(String::as_str).collect();
    let more = all.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use program_file::tests::{elf, put};

    struct Place {
        folder: tempfile::TempDir,
        notes: Notes,
    }

    impl Place {
        fn new() -> Place {
            Place { folder: tempfile::tempdir().unwrap(), notes: Notes::default() }
        }

        fn program(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let file = self.folder.path().canonicalize().unwrap().join(name);
            put(&file, bytes);
            file
        }

        fn says(&self, words: &[&str]) -> String {
            causes(&words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>(), &self.notes).join("; ")
        }
    }

    #[test]
    fn files_come_before_guesses() {
        let place = Place::new();
        let file = place.program("app", &elf(false));
        let said = place.says(&["sh", file.to_str().unwrap()]);
        assert_eq!(said, format!("{} is linked statically, so no library can be loaded into it", file.display()));
    }

    #[test]
    fn notes_report_loaded_libraries() {
        let mut place = Place::new();
        let (app, launcher) = (place.program("app", &elf(true)), place.program("launcher", &elf(true)));
        let words = [launcher.to_str().unwrap(), app.to_str().unwrap()];
        assert!(place.says(&words).starts_with("it was loaded into no process here; no check explains it"));
        place.notes.loaded.insert(launcher.clone());
        let said = place.says(&words);
        assert!(said.starts_with("it was loaded into launcher, but not into app; no check"), "{said}");
        let said = place.says(&[words[0], "env", "-i", words[1]]);
        assert_eq!(said, "`env -i` starts programs without LD_PRELOAD");
        place.notes.loaded.insert(app.clone());
        assert_eq!(place.says(&words), "it was loaded into app, launcher, and none of these called MPI_Init");
        let began = notes::Began { rank: Some(1), ..Default::default() };
        place.notes.began = vec![began.clone()];
        assert_eq!(place.says(&words), "1 process (rank 1) called MPI_Init, which did not return");
        place.notes.began.push(notes::Began { rank: Some(0), ..began });
        assert_eq!(place.says(&words), "2 processes (ranks 0-1) called MPI_Init, which did not return");
    }

    #[test]
    fn a_process_that_has_begun_reports_itself_why_it_recorded_nothing() {
        let mut place = Place::new();
        let library = Some(notes::Library { version: "MPI X".into(), ..Default::default() });
        place.notes.began = vec![notes::Began { library, ..Default::default() }];
        assert!(place.says(&["true"]).starts_with("processes of \"MPI X\" began MPI, and recorded nothing"));
    }

    #[test]
    fn notes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let began = notes::Began { rank: Some(2), program: "/x".into(), ..Default::default() };
        fs::write(folder.path().join("1.loaded"), "/bin/sh").unwrap();
        fs::write(folder.path().join("2.began"), began.encode()).unwrap();
        fs::write(folder.path().join("launch.json"), "{}").unwrap();
        for name in ["3.past", "4.past"] {
            fs::write(folder.path().join(name), "/bin/app").unwrap();
        }
        let notes = Notes::read(folder.path());
        let [cause] = &causes(&[], &notes)[..] else { panic!() };
        assert!(cause.starts_with("/bin/app began MPI past the library: by PMPI_Init"), "{cause}");
        assert_eq!((notes.loaded, notes.began), (BTreeSet::from(["/bin/sh".into()]), vec![began]));
        assert!(Notes::read(Path::new("/no/such")).loaded.is_empty());
    }
}
