//! `fishplate profile`, with ranks' files that are made up.

use std::fs;
use std::path::PathBuf;

use crate::common::{Installed, Ran};
use crate::preload;
use crate::rank_files::{RankFile, write_series};
use fishplate_profile::rank_file::{event, header};

/// The program with the library beside it, and a folder for files of ranks.
fn installed() -> (Installed, PathBuf) {
    let fishplate = Installed::new();
    preload::preload(&fishplate);
    let files = fishplate.path("files");
    fs::create_dir(&files).unwrap();
    (fishplate, files)
}

/// Runs a program that writes copies of the files in the folder `files`.
fn profile(fishplate: &Installed, options: &[&str], script: &str) -> Ran {
    let script = format!("cp files/* \"$FISHPLATE_PROFILE\"; {script}");
    let args = [&["profile"], options, &["--", "sh", "-c", &script]].concat();
    fishplate.run(&args)
}

fn two_ranks(files: &std::path::Path) {
    let (send, receive) = (event::SEND, event::RECEIVE);
    RankFile::new(0, 2)
        .calls("MPI_Send", 4, 100_000_000, 4 << 20, 0x401000)
        .sent(1, 4, 1 << 20)
        .event(send, "MPI_Send", 1, [600, 600, 625])
        .write(files, 100);
    RankFile::new(1, 2)
        .calls("MPI_Recv", 4, 400_000_000, 0, 0x402000)
        .event(receive, "MPI_Recv", 1, [300, 300, 625])
        .write(files, 100);
}

#[test]
fn a_program_and_its_record() {
    let (fishplate, files) = installed();
    two_ranks(&files);
    write_series(&files.join("node0.4026.rails"), 0, &["eth0 sent".into(), "eth0 received".into()], 100);
    let ran = profile(&fishplate, &[], "exit 3");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    for part in ["app: 2 ranks on 1 host, 1.00 s; MPICH Version: 5.0.2", "MPI_Recv", "400 ms", "300 ms", "eth0"] {
        assert!(ran.err.contains(part), "no \"{part}\" in {}", ran.err);
    }
    let long = ran.err.lines().find(|line| line.chars().count() > 100 && !line.starts_with('!'));
    assert_eq!(long.filter(|line| !line.contains(": /")), None);
    // The raw files are removed; the record gives equal tables.
    assert!(!fishplate.path("profile.ranks").exists());
    let again = fishplate.run(&["profile", "--read", "profile.json"]);
    let told = ran.err.split("\nrecord: ").next().unwrap().trim();
    assert_eq!(again.err.split("\nrecord: ").next().unwrap().trim().split("\npage: ").next().unwrap(), told);
}

#[test]
fn a_program_that_was_killed() {
    let (fishplate, files) = installed();
    RankFile::new(0, 3).with(header::STATE, 3).with(header::ABORT_CODE, 9).write(&files, 50);
    RankFile::new(1, 3).with(header::LAST, 5_400_000_000).stuck_in("MPI_Recv", 400, 0x401234).write(&files, 200);
    let ran = profile(&fishplate, &["-o", "killed.json"], "kill -KILL $$");
    assert_eq!(ran.code, Some(137), "{}", ran.err);
    ran.fails_saying(&[
        "rank 0 called MPI_Abort with code 9",
        "rank 1 did not call MPI_Finalize: was in MPI_Recv at 0x401234 for the last ",
        "rank 2 of 3 left nothing",
    ]);
    assert!(fishplate.path("killed.json").exists());
}

#[test]
fn files_of_a_killed_profile_are_read() {
    let (fishplate, _) = installed();
    let left = fishplate.path("left.ranks");
    fs::create_dir(&left).unwrap();
    for rank in [0, 1, 3] {
        RankFile::new(rank, 4).stuck_in("MPI_Barrier", 400 + 100 * rank as u64, 0x401234).write(&left, 20);
    }
    RankFile::new(2, 4).with(header::LAST, 5_300_000_000).with(header::STATE, 1).write(&left, 30);
    // The host was looked at for two seconds.
    write_series(&left.join("node0.4026.rails"), 0, &["eth0 sent".into(), "eth0 received".into()], 200);
    fs::write(left.join("node0.9.rank"), "torn").unwrap();
    let ran = fishplate.run(&["profile", "--read", "left.ranks"]).succeeds();
    for part in [
        "! rank 2 did not call MPI_Finalize: was outside of MPI for the last 1.70 s",
        "! ranks 0-1, 3 did not call MPI_Finalize: were in MPI_Barrier at 0x401234 for up to the last 1.60 s",
        "! left out: node0.9.rank: not a file of a profile, or not a whole one",
        "left.json",
    ] {
        assert!(ran.err.contains(part), "no \"{part}\" in {}", ran.err);
    }
}

#[test]
fn a_record_that_cannot_be_written_does_not_lose_anything() {
    let (fishplate, files) = installed();
    two_ranks(&files);
    // A folder is in its place.
    let ran = profile(&fishplate, &[], "mkdir -p profile.json/x; exit 4");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("cannot write") && ran.err.contains("profile.json"), "{}", ran.err);
    assert!(ran.err.contains("profile.ranks: `fishplate profile --read "), "{}", ran.err);
    let ran = fishplate.run(&["profile", "--read", "profile.ranks", "-o", "other.json"]).succeeds();
    assert!(ran.err.contains("app: 2 ranks") && fishplate.path("other.json").exists(), "{}", ran.err);
    // A folder that is left does not keep the next run from its work.
    profile(&fishplate, &["-o", "profile.json/y.json"], "true").succeeds();
    fs::remove_dir_all(fishplate.path("profile.json")).unwrap();
    let ran = profile(&fishplate, &[], "true");
    assert!(
        ran.err.contains("profile.ranks is of another run") && fishplate.path("profile.json").exists(),
        "{}",
        ran.err
    );
    assert!(!fishplate.path("profile.ranks-2").exists());
}

#[test]
fn two_programs_of_one_command_are_distinguished() {
    let (fishplate, files) = installed();
    two_ranks(&files);
    let more = "mkdir again; for f in files/*; do cp \"$f\" \"$FISHPLATE_PROFILE/again.${f#files/}\"; done";
    let ran = profile(&fishplate, &[], more);
    assert_eq!(ran.err.matches("app: 2 ranks").count(), 2, "{}", ran.err);
    assert!(ran.err.contains("2 MPI programs ran"), "{}", ran.err);
}

#[test]
fn variables_reach_the_program_and_others_are_unchanged() {
    let (fishplate, _) = installed();
    let script =
        "printf '%s\\n' \"$LD_PRELOAD\" \"$FISHPLATE_PROFILE\" \"$OMPI_MCA_mca_base_env_list\" \"$FI_PROVIDER\"";
    let ran = fishplate.run_with(("LD_PRELOAD", "libdl.so.2"), &["profile", "-o", "x.json", "--", "sh", "-c", script]);
    let library = fishplate.path("lib/fishplate/libfishplate-mpi.so");
    let expected = [
        format!("{}:libdl.so.2", library.display()),
        fishplate.path("x.ranks").display().to_string(),
        "ASAN_OPTIONS;FISHPLATE_PROFILE;LD_PRELOAD".into(),
        String::new(),
    ];
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected, "{}", ran.err);
    assert!(ran.err.contains("no process called MPI"), "{}", ran.err);
    // Over Fishplate: its collective operations too, and each name once.
    let mut command = fishplate.command(&["profile", "--", "bin/fishplate", "run", "--", "sh", "-c"]);
    command.arg("printf '%s\\n' \"$LD_PRELOAD\" \"$FISHPLATE_COLLECTIVES\" \"$OMPI_MCA_mca_base_env_list\"");
    let ran = Ran::of(command.output().unwrap());
    let list = "FISHPLATE_COLLECTIVES;FISHPLATE_NOTES;FISHPLATE_STATS;FI_MR_CACHE_MAX_COUNT;FI_PROVIDER;FI_PROVIDER_PATH;ASAN_OPTIONS;FISHPLATE_PROFILE;LD_PRELOAD";
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), [&library.display().to_string(), "cluster", list], "{}", ran.err);
}
