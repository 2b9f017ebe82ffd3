//! Why the library in front of MPI has seen no call: what the files of a command's programs tell.

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fishplate_profile::rank_file::Layout;

use super::schema::Profile;
use crate::output::text;
use crate::system::free_space;

/// Longer files are not looked through for an MPI of their own.
const MOST_BYTES: u64 = 1 << 30;
/// What a program of 64 bits begins with; its table of program headers is where the word at 32 says.
const HEAD: usize = 64;
const CLASS_64: u8 = 2;
/// A program header of this kind names the dynamic linker.
const INTERPRETER: u32 = 3;
const SET_USER_ID: u32 = 0o4000;
/// Libraries that are loaded in front of MPI have this function, and programs that MPI is linked into.
const OWN_MPI: &[u8] = b"\0PMPI_Init\0";
/// What the names of MPI libraries begin with.
const MPI_LIBRARY: &[u8] = b"\0libmpi";

/// Why no process was seen, where programs that began MPI `past` the library or the files of its command's programs tell;
/// nothing otherwise.
pub fn causes(command: &[String], past: &[String]) -> Vec<String> {
    let began = |program: &String| {
        format!(
            "{program} began MPI past the library: by PMPI_Init, or in a plug-in that sees its own libraries first \
             (RTLD_DEEPBIND)"
        )
    };
    let mut causes: Vec<String> = past.iter().map(began).collect();
    causes.sort();
    causes.dedup();
    for file in command.iter().filter_map(|word| program(word)) {
        if let Some(cause) = cause(&file)
            && !causes.contains(&cause)
        {
            causes.push(cause);
        }
    }
    causes
}

/// That ranks find no room for what they record, if it is so: they have said that themselves, one of each host.
pub fn full_disk(folder: &Path) -> Option<String> {
    too_full(folder, free_space::of(folder).ok()?)
}

fn too_full(folder: &Path, free: u64) -> Option<String> {
    let needed = (Layout::new(1).words * size_of::<u64>()) as u64;
    let (shown, free_text, needed_text) = (folder.display(), text::bytes(free), text::bytes(needed));
    (free < needed).then(|| format!("the disk of {shown} has {free_text} left, and each rank needs {needed_text}"))
}

/// The line about a profile without any process.
pub fn line(profile: &Profile) -> String {
    let known = match &profile.unseen[..] {
        [] => "this is no MPI program, or its MPI is neither of MPICH's kind nor Open MPI, or its processes run where the \
               library is not loaded (a container, a host that has another file system, a launcher that does not hand \
               LD_PRELOAD on)"
            .into(),
        causes => causes.join("; "),
    };
    format!("no process called MPI with Fishplate's library in front of it: {known}")
}

/// The file of a word, if it can be a program.
fn program(word: &str) -> Option<PathBuf> {
    let named = |path: PathBuf| path.is_file().then_some(path);
    if word.contains('/') {
        return named(word.into());
    }
    env::split_paths(&env::var_os("PATH")?).find_map(|folder| named(folder.join(word)))
}

/// What keeps a library from being loaded into a program, or MPI's calls from it.
fn cause(path: &Path) -> Option<String> {
    let (shown, mut file) = (path.display(), File::open(path).ok()?);
    let metadata = file.metadata().ok()?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    if head[4] != CLASS_64 {
        return Some(format!("{shown} is a program of 32 bits, and the library one of 64"));
    }
    let own_user = fs::metadata("/proc/self").ok().map(|own| own.uid());
    if metadata.mode() & SET_USER_ID != 0 && own_user.is_some_and(|own| own != metadata.uid()) {
        return Some(format!("{shown} runs as another user (set-user-ID), so the system loads no library into it"));
    }
    let mut rest = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut rest).ok()?;
    let bytes = [&head[..], &rest].concat();
    if !is_library(path) && !has_interpreter(&bytes)? {
        return Some(format!("{shown} is linked statically, so no library can be loaded into it"));
    }
    let has = |wanted: &[u8]| bytes.windows(wanted.len()).any(|part| part == wanted);
    // A program may call that function of a library, which it names then.
    let has_own_mpi = !is_library(path) && has(OWN_MPI) && !has(MPI_LIBRARY);
    has_own_mpi.then(|| format!("MPI is linked into {shown} statically, so its calls go past the library"))
}

fn is_library(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// Whether a program says which dynamic linker loads it.
fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    let half = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let start = u64::from_le_bytes(*bytes.get(32..)?.first_chunk()?) as usize;
    let (size, count) = (half(54)?, half(56)?);
    let kind = |at: usize| bytes.get(start + at * size..)?.first_chunk().map(|kind| u32::from_le_bytes(*kind));
    Some((0..count).any(|at| kind(at) == Some(INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of 64 bits with one program header.
    fn elf(header: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEAD];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        (bytes[32], bytes[54], bytes[56]) = (HEAD as u8, 56, 1);
        bytes.extend(header.to_le_bytes());
        bytes.resize(HEAD + 56, 0);
        bytes
    }

    #[test]
    fn files_tell_why_nothing_can_be_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let cause_of = |name: &str, bytes: Vec<u8>| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            causes(&["./none".into(), path.to_str().unwrap().into()], &[])
        };
        assert!(cause_of("static", elf(1))[0].contains("static is linked statically"));
        assert!(cause_of("own", [elf(INTERPRETER), OWN_MPI.to_vec()].concat())[0].contains("MPI is linked into"));
        assert!(cause_of("calls", [&elf(INTERPRETER), OWN_MPI, MPI_LIBRARY].concat()).is_empty());
        let mut short = elf(INTERPRETER);
        short[4] = 1;
        assert!(cause_of("short", short)[0].contains("32 bits"));
        assert!(cause_of("fine", elf(INTERPRETER)).is_empty());
        assert!(cause_of("plugin.so.1", elf(1)).is_empty() && cause_of("script", b"#!/bin/sh".to_vec()).is_empty());
    }

    #[test]
    fn what_began_past_the_library_is_told_once() {
        let [cause] = &causes(&[], &["/bin/app".into(), "/bin/app".into()])[..] else { panic!() };
        assert!(cause.starts_with("/bin/app began MPI past the library: by PMPI_Init"), "{cause}");
    }

    #[test]
    fn a_disk_without_room_for_a_rank_is_told() {
        let of = |free| too_full(Path::new("here"), free);
        assert!(of(1 << 10).unwrap().contains("the disk of here has"));
        assert_eq!(of(1 << 30), None);
    }

    #[test]
    fn programs_that_are_found_in_path_are_looked_at() {
        assert!(program("sh").is_some() && program("/bin/sh").is_some());
        assert_eq!((program("-n"), program("./none")), (None, None));
        assert!(causes(&["sh".into(), "-c".into()], &[]).is_empty());
    }
}
