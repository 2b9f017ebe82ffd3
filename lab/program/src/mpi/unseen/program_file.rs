//! Examines whether libraries can be loaded into a program, from its file.

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file that are searched for a statically linked MPI.
const MAX_BYTES: u64 = 1 << 30;
/// Length of the ELF header of 64-bit programs; the word at 32 is the offset of the program headers.
const HEAD: usize = 64;
const CLASS_64: u8 = 2;
/// Offset of the processor's type in it.
const MACHINE: std::ops::Range<usize> = 18..20;
/// A program header of this kind names the dynamic linker.
const INTERPRETER: u32 = 3;
const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
/// Libraries that are loaded in front of MPI have this function, and programs that MPI is linked into.
const OWN_MPI: &[u8] = b"\0PMPI_Init\0";

/// The file of a word of a command, if it can be a program.
pub fn find(word: &str) -> Option<PathBuf> {
    let named = |path: PathBuf| path.is_file().then_some(path);
    if word.contains('/') {
        return named(word.into());
    }
    env::split_paths(&env::var_os("PATH")?).find_map(|folder| named(folder.join(word)))
}

/// Whether it is a program that the kernel starts by itself: no script, no library.
pub fn is_executable(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|file| file.mode() & 0o111 != 0 && file.is_file());
    is_file && !is_library(path) && head(path).is_some()
}

/// The text of a script.
pub fn script(path: &Path) -> Option<String> {
    /// Longer ones are no scripts that start programs.
    const MAX_SCRIPT_BYTES: u64 = 64 << 10;
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_SCRIPT_BYTES).read_to_end(&mut text).ok()?;
    text.starts_with(b"#!").then(|| String::from_utf8_lossy(&text).into_owned())
}

fn head(path: &Path) -> Option<[u8; HEAD]> {
    let mut head = [0; HEAD];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    head.starts_with(b"\x7fELF").then_some(head)
}

/// The obstacle to loading a library into a program, or to its seeing MPI's calls.
pub fn obstacle(path: &Path) -> Option<String> {
    let (shown, head) = (path.display(), head(path)?);
    let own = self::head(Path::new("/proc/self/exe"))?;
    if head[4] != own[4] && head[4] != CLASS_64 {
        return Some(format!("{shown} is a program of 32 bits, and the library one of 64"));
    }
    if head[MACHINE] != own[MACHINE] {
        return Some(format!("{shown} is a program for another processor than the library"));
    }
    let (metadata, process) = (fs::metadata(path).ok()?, fs::metadata("/proc/self").ok()?);
    let (mode, is_root) = (metadata.mode(), process.uid() == 0);
    let is_other_user = mode & SET_USER_ID != 0 && process.uid() != metadata.uid();
    let is_other_group = mode & SET_GROUP_ID != 0 && process.gid() != metadata.gid();
    if is_other_user || is_other_group {
        let (whose, bit) = if is_other_user { ("user", "set-user-ID") } else { ("group", "set-group-ID") };
        return Some(format!("{shown} runs as another {whose} ({bit}), so the system loads no library into it"));
    }
    if !is_root && rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 64][..]).is_ok() {
        return Some(format!("{shown} has capabilities of its own (setcap), so the system loads no library into it"));
    }
    if is_library(path) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    if !has_interpreter(&bytes)? {
        return Some(format!("{shown} is linked statically, so no library can be loaded into it"));
    }
    let has_own_mpi = bytes.windows(OWN_MPI.len()).any(|part| part == OWN_MPI);
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
pub mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program of this machine's kind with one program header: a dynamically linked one where it has a dynamic linker.
    pub fn elf(is_dynamic: bool) -> Vec<u8> {
        let mut bytes = vec![0; HEAD];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        bytes[MACHINE].copy_from_slice(&head(Path::new("/proc/self/exe")).unwrap()[MACHINE]);
        (bytes[32], bytes[54], bytes[56]) = (HEAD as u8, 56, 1);
        bytes.extend((if is_dynamic { INTERPRETER } else { 1 }).to_le_bytes());
        bytes.resize(HEAD + 56, 0);
        bytes
    }

    /// A file that may be run.
    pub fn put(path: &Path, bytes: &[u8]) {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn files_show_why_no_library_can_be_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, bytes: Vec<u8>| {
            let path = folder.path().join(name);
            put(&path, &bytes);
            obstacle(&path)
        };
        let says = |name: &str, bytes: Vec<u8>, part: &str| {
            let said = of(name, bytes).unwrap();
            assert!(said.contains(name) && said.contains(part), "{said}");
        };
        says("static", elf(false), "is linked statically");
        says("own", [elf(true), OWN_MPI.to_vec()].concat(), "MPI is linked into");
        let with = |at: usize, value: u8| {
            let mut bytes = elf(true);
            bytes[at] = value;
            bytes
        };
        says("short", with(4, 1), "32 bits");
        says("foreign", with(MACHINE.start, 0xf5), "another processor");
        assert_eq!(of("fine", elf(true)), None);
        assert_eq!((of("plugin.so.1", elf(false)), of("script", b"#!/bin/sh".to_vec())), (None, None));
        assert!(is_executable(&folder.path().join("fine")) && !is_executable(&folder.path().join("script")));
        assert!(!is_executable(&folder.path().join("plugin.so.1")));
    }

    #[test]
    fn programs_of_another_user_load_no_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sudo");
        put(&path, &elf(true));
        // Only root can make a file another user's.
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            std::os::unix::fs::chown(&path, Some(1), Some(1)).unwrap();
            for (mode, part) in [(0o4755, "set-user-ID"), (0o2755, "set-group-ID")] {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                assert!(obstacle(&path).unwrap().contains(part), "{part}");
            }
        }
    }

    #[test]
    fn programs_are_found_in_path() {
        assert!(find("sh").is_some() && find("/bin/sh").is_some());
        assert_eq!((find("-n"), find("./none")), (None, None));
        assert_eq!(obstacle(Path::new("/bin/sh")), None);
    }
}
