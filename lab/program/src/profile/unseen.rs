//! Why a profile has no rank, or not all of them: what was found, at the end of the run.

use std::fs::{self, File};
use std::path::Path;

use fishplate_profile::rank_file::Layout;

use super::schema::{Profile, World};
use crate::mpi::unseen::{self, Notes};
use crate::output::text::{self, named_ranks};
use crate::system::free_space;

/// Adds findings about ranks without recordings to the profile of a folder. `is_new`: the run has ended just now; later
/// the folder's disk has no data about it.
pub fn explain(profile: &mut Profile, folder: &Path, is_new: bool) {
    let notes = Notes::read(folder);
    let storage = if is_new { full_disk(folder).or_else(|| unwritable(folder)) } else { None };
    if profile.worlds.is_empty() {
        let full = storage.clone();
        profile.unseen = full.map_or_else(|| unseen::causes(&profile.command, &notes), |full| vec![full]);
    }
    let mut worlds = std::mem::take(&mut profile.worlds);
    worlds.iter_mut().for_each(|world| world.absent = why_absent(world, profile, &notes, storage.as_deref()));
    profile.worlds = worlds;
}

/// The line about a profile without any process.
pub fn line(profile: &Profile) -> String {
    let why = if profile.unseen.is_empty() { String::new() } else { format!(": {}", profile.unseen.join("; ")) };
    format!("no process called MPI with Fishplate's library in front of it{why}")
}

/// The lines about ranks of a program that have left nothing.
pub fn absent(world: &World) -> Vec<String> {
    let ranks = ranks_without_file(world);
    if !world.absent.is_empty() || ranks.is_empty() {
        return world.absent.clone();
    }
    vec![format!("{} of {} left nothing", named_ranks(&ranks), world.size)]
}

fn ranks_without_file(world: &World) -> Vec<usize> {
    (0..world.size).filter(|rank| world.ranks.iter().all(|known| known.rank != *rank)).collect()
}

fn why_absent(world: &World, profile: &Profile, notes: &Notes, storage: Option<&str>) -> Vec<String> {
    let absent = ranks_without_file(world);
    let is_of_world = |began: &&fishplate_profile::notes::Began| began.ranks.is_none_or(|ranks| ranks == world.size);
    let began = |rank: usize| notes.began.iter().filter(is_of_world).find(|began| began.rank == Some(rank));
    let (known, silent): (Vec<usize>, Vec<usize>) = absent.iter().partition(|rank| began(**rank).is_some());
    let (stuck, failed): (Vec<usize>, Vec<usize>) =
        known.iter().partition(|rank| began(**rank).is_some_and(|began| began.library.is_none()));
    let line = |ranks: &[usize], why: &dyn Fn() -> String| {
        (!ranks.is_empty()).then(|| format!("{} of {} left nothing: {}", named_ranks(ranks), world.size, why()))
    };
    let no_file = "MPI_Init returned, and no file could be made for the recording";
    let or_unexplained = || {
        let found = storage.map_or_else(|| unseen::in_command(&profile.command), |storage| vec![storage.to_string()]);
        if found.is_empty() { UNEXPLAINED.into() } else { found.join("; ") }
    };
    let lines = [
        line(&stuck, &|| "called MPI_Init, which did not return".into()),
        line(&failed, &|| storage.unwrap_or(no_file).into()),
        line(&silent, &or_unexplained),
    ];
    lines.into_iter().flatten().collect()
}

/// Text about ranks of which nothing was found.
const UNEXPLAINED: &str = "no process of theirs called MPI_Init where the library is loaded and the folder of the output can be \
    written; nothing in the command, in the files of its programs and about that folder on this host explains it";

/// A finding if a folder is not writable.
fn unwritable(folder: &Path) -> Option<String> {
    let probe = folder.join("probe");
    let error = File::create(&probe).err();
    let _ = fs::remove_file(&probe);
    error.map(|error| format!("{} cannot be written: {error}", folder.display()))
}

/// A message if the folder's disk has no room for a rank's recording. One rank of each host has reported it as well.
fn full_disk(folder: &Path) -> Option<String> {
    too_full(folder, free_space::of(folder).ok()?)
}

fn too_full(folder: &Path, free: u64) -> Option<String> {
    let needed = (Layout::new(1).words * size_of::<u64>()) as u64;
    let (shown, free_text, needed_text) = (folder.display(), text::bytes(free), text::bytes(needed));
    (free < needed).then(|| format!("the disk of {shown} has {free_text} left, and each rank needs {needed_text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::test_ranks::rank;
    use crate::profile::{of_ranks, times::Times};
    use fishplate_profile::notes::{Began, Library};

    #[test]
    fn a_disk_without_room_for_a_rank_is_reported() {
        let of = |free| too_full(Path::new("here"), free);
        assert!(of(1 << 10).unwrap().contains("the disk of here has"));
        assert_eq!(of(1 << 30), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(folder.path()), None);
        assert!(unwritable(Path::new("/proc/self")).unwrap().starts_with("/proc/self cannot be written: "));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn why_ranks_are_absent_is_what_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let note = |name: &str, rank: usize, library: Option<Library>| {
            let began = Began { rank: Some(rank), ranks: Some(5), library, ..Began::default() };
            fs::write(folder.path().join(format!("{name}.began")), began.encode()).unwrap();
        };
        note("a", 1, None);
        note("b", 2, None);
        note("c", 3, Some(Library::default()));
        let mut profile = of_ranks(vec![rank(0, 5)]);
        assert_eq!(absent(&profile.worlds[0]), ["ranks 1-4 of 5 left nothing"], "of a record of before");
        explain(&mut profile, folder.path(), true);
        let lines = absent(&profile.worlds[0]);
        assert_eq!(lines[0], "ranks 1-2 of 5 left nothing: called MPI_Init, which did not return");
        assert!(lines[1].starts_with("rank 3 of 5 left nothing: MPI_Init returned, and no file"), "{lines:?}");
        assert!(lines[2].starts_with("rank 4 of 5 left nothing: no process of theirs called MPI_Init"), "{lines:?}");
        assert_eq!(Times::of(&profile).unwrap_err().to_string(), lines.join("; "));
        // Files of the command come before that nothing was found.
        profile.command = vec!["/proc/self/exe".into()];
        let complete = of_ranks((0..5).map(|number| rank(number, 5)).collect());
        assert!(absent(&complete.worlds[0]).is_empty());
        let mut nothing = of_ranks(Vec::new());
        assert_eq!(line(&nothing), "no process called MPI with Fishplate's library in front of it");
        explain(&mut nothing, folder.path(), true);
        assert!(line(&nothing).contains("2 processes (ranks 1-2) called MPI_Init"));
    }
}
