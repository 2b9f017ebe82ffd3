//! The programs that a command names, and what in it keeps variables from them.

use std::fs;
use std::path::{Path, PathBuf};

use super::program_file;

/// Programs that start others without the variables set here, and how.
const DROPPING: [(&[&str], &str); 4] = [
    (&["sudo", "su", "doas", "runuser", "pkexec"], "starts programs as another user, without LD_PRELOAD"),
    (&["ssh", "rsh"], "starts programs on another host, without the variables set here"),
    (
        &[
            "docker",
            "podman",
            "nerdctl",
            "singularity",
            "apptainer",
            "ch-run",
            "shifter",
            "sarus",
            "enroot",
            "bwrap",
            "chroot",
        ],
        "starts programs in a container, which has files of its own",
    ),
    (&["systemd-run"], "has programs started by systemd, without the variables set here"),
];

const PRELOAD: &str = "LD_PRELOAD";
/// Words of shells and launchers that take or change the variable that follows.
const SETTING: [&str; 3] = ["unset", "-env", "-genv"];

/// A program that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its file; links are followed.
    pub file: PathBuf,
    /// The obstacle in front of it that removes LD_PRELOAD, if any.
    pub dropped: Option<String>,
}

/// The programs in a command, in its order; those in scripts and in the texts that shells are given as well.
pub fn programs(command: &[String]) -> Vec<Named> {
    let mut found = Vec::new();
    add(command, true, &mut found);
    found
}

fn add(command: &[String], looks_into_scripts: bool, found: &mut Vec<Named>) {
    let words: Vec<&str> = command.iter().flat_map(|word| word.split_whitespace()).map(bare).collect();
    let mut dropped = None;
    for (at, word) in words.iter().enumerate() {
        let dropping_here = dropping(&words[at..]);
        let is_dropping = dropping_here.is_some();
        dropped = dropping_here.or(dropped);
        let Some(file) = program_file::find(word) else { continue };
        if let Some(text) = program_file::script(&file).filter(|_| looks_into_scripts) {
            add(&[text], false, found);
        }
        let real = fs::canonicalize(&file).unwrap_or(file);
        // A program that removes the variables still has them itself.
        let kept_from = dropped.clone().filter(|_| !is_dropping);
        match found.iter_mut().find(|known| known.file == real) {
            Some(known) => known.dropped = known.dropped.take().or(kept_from),
            None if program_file::is_executable(&real) => found.push(Named { file: real, dropped: kept_from }),
            None => {}
        }
    }
}

/// Without what shells take away.
fn bare(word: &str) -> &str {
    word.trim_matches(['"', '\'', ';', '(', ')'])
}

/// Whether the first of these words starts what follows without LD_PRELOAD, or with another one: in a sentence.
fn dropping(words: &[&str]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    if let Some(value) = first.strip_prefix("LD_PRELOAD=") {
        let is_kept = value.contains("$LD_PRELOAD") || value.contains("${LD_PRELOAD");
        return (!is_kept).then(|| format!("`{first}` replaces what is set here"));
    }
    if SETTING.contains(first) && rest.first() == Some(&PRELOAD) {
        let what = if *first == "unset" { "takes away" } else { "replaces" };
        return Some(format!("`{first} {PRELOAD}` {what} what is set here"));
    }
    let name = Path::new(first).file_name()?.to_string_lossy();
    if name == "env" {
        let is_operand = |at: usize| at > 0 && rest[at - 1] == "-u";
        let is_option = |at: &usize| is_operand(*at) || rest[*at].starts_with('-') || rest[*at].contains('=');
        let found = (0..rest.len()).take_while(is_option).find(|at| takes_away(rest[*at]));
        let shown = |at: usize| if is_operand(at) { format!("-u {}", rest[at]) } else { rest[at].to_string() };
        return found.map(|at| format!("`env {}` starts programs without LD_PRELOAD", shown(at)));
    }
    let (_, how) = DROPPING.iter().find(|(names, _)| names.contains(&&*name))?;
    Some(format!("`{name}` {how}"))
}

fn takes_away(option: &str) -> bool {
    let is_clear = ["-i", "-", "--ignore-environment"].contains(&option);
    let unset = option.strip_prefix("--unset=").or(option.strip_prefix("-u")).unwrap_or(option);
    is_clear || unset == PRELOAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::unseen::program_file::tests::{elf, put};

    #[test]
    fn obstacles_to_variables_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().canonicalize().unwrap().join("app");
        put(&app, &elf(true));
        let script = folder.path().join("run.sh");
        put(&script, format!("#!/bin/sh\nexec env -i {}\n", app.display()).as_bytes());
        let dropped = |line: &str| {
            let words: Vec<String> = line.split(',').map(|word| word.replace("APP", app.to_str().unwrap())).collect();
            let all = programs(&words);
            all.iter().find(|named| named.file == app).unwrap_or_else(|| panic!("{line}: {all:?}")).dropped.clone()
        };
        assert_eq!(dropped("sh,-c,APP 3"), None);
        assert_eq!(dropped("env,A=1,APP"), None);
        assert_eq!(dropped("sh,-c,LD_PRELOAD=libx.so:$LD_PRELOAD APP"), None);
        assert_eq!(dropped("env,A=1,APP,-u,LD_PRELOAD"), None);
        for (line, part) in [
            ("env,-i,APP", "`env -i` starts"),
            ("/usr/bin/env,-u,LD_PRELOAD,APP", "`env -u LD_PRELOAD` starts"),
            ("env,-uLD_PRELOAD,APP", "`env -uLD_PRELOAD` starts"),
            ("env,A=1,LD_PRELOAD=,APP", "`LD_PRELOAD=` replaces what is set here"),
            ("sh,-c,LD_PRELOAD=libx.so exec APP", "`LD_PRELOAD=libx.so` replaces"),
            ("sh,-c,unset LD_PRELOAD; APP", "`unset LD_PRELOAD` takes away"),
            ("mpiexec,-genv,LD_PRELOAD,libx.so,APP", "`-genv LD_PRELOAD` replaces"),
            ("sh,-c,'env -i APP'", "`env -i` starts"),
            ("mpiexec,-n,2,sudo,APP", "`sudo` starts programs as another user"),
            ("mpiexec,APP,:,env,-i,APP", "`env -i` starts"),
            ("docker,run,image,APP", "`docker` starts programs in a container"),
            ("ssh,b,APP", "`ssh` starts programs on another host"),
            ("systemd-run,APP", "`systemd-run` has programs started by systemd"),
        ] {
            assert!(dropped(line).is_some_and(|said| said.starts_with(part)), "{line}: {:?}", dropped(line));
        }
        let in_script = programs(&[script.to_str().unwrap().into()]);
        let found = in_script.iter().find(|named| named.file == app).unwrap();
        assert!(found.dropped.as_ref().unwrap().contains("-i"));
    }
}
