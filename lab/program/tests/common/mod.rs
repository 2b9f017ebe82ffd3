//! The program as a user has it: in a folder `bin`, with a provider in `lib/fishplate` (an empty file here).

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// An installed program.
pub struct Installed {
    folder: TempDir,
}

/// What a run printed and how it ended.
pub struct Ran {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Error output.
    pub err: String,
}

impl Installed {
    /// Program and provider.
    pub fn new() -> Installed {
        let installed = Installed::without_provider();
        let library = installed.folder.path().join("lib/fishplate");
        fs::create_dir_all(&library).unwrap();
        fs::write(library.join("libfishplate-fi.so"), "").unwrap();
        installed
    }

    /// The program alone.
    pub fn without_provider() -> Installed {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        // Not a copy: a file that was being written while another thread forked is "busy".
        fs::hard_link(env!("CARGO_BIN_EXE_fishplate"), folder.path().join("bin/fishplate")).unwrap();
        Installed { folder }
    }

    /// Program and provider, where a testbed with these options comes up; says so where it does not.
    pub fn with_testbed(options: &[&str]) -> Option<Installed> {
        let installed = Installed::new();
        let ran = installed.run(&[&["testbed"], options, &["--", "true"]].concat());
        if ran.code == Some(0) {
            return Some(installed);
        }
        let known = ["namespaces", "iproute2", "is not set up here", "needs root", "/dev/fuse", "overlayfs"];
        assert!(known.iter().any(|reason| ran.err.contains(reason)), "{}", ran.err);
        eprintln!("skipped, no testbed {options:?} here: {}", ran.err);
        None
    }

    /// A path in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with arguments, and none of the caller's settings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/fishplate"));
        command.args(args).current_dir(self.folder.path()).stdin(std::process::Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("FISHPLATE_") || text.starts_with("FI_") || text.starts_with("OMPI_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs it.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Checks that each command of a list, one a line, fails with a message holding all that stands behind it: `report none
    /// => cannot read the record none | No such file`.
    #[track_caller]
    pub fn fails_as_listed(&self, list: &str) {
        for line in list.lines() {
            let (command, parts) = line.split_once(" => ").expect(line);
            let ran = self.run(&command.split(' ').collect::<Vec<_>>());
            ran.fails_saying(&parts.split(" | ").collect::<Vec<_>>());
        }
    }

    /// Runs it with a variable.
    pub fn run_with(&self, (name, value): (&str, impl AsRef<OsStr>), args: &[&str]) -> Ran {
        Ran::of(self.command(args).env(name, value).output().unwrap())
    }
}

impl Ran {
    /// From what the standard library returns.
    pub fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Checks that it succeeded.
    #[track_caller]
    pub fn succeeds(self) -> Ran {
        self.ends_with(0)
    }

    /// Checks that its output holds all of `parts`.
    #[track_caller]
    pub fn shows(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "no \"{part}\" in: {}{}", self.out, self.err);
        }
    }

    /// Checks that it ended with this exit code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        self
    }

    /// Checks that it failed with a message holding all of `parts`.
    #[track_caller]
    pub fn fails_saying(&self, parts: &[&str]) {
        assert!(self.code.is_some_and(|code| code != 0), "it did not fail: {}{}", self.out, self.err);
        for part in parts {
            assert!(self.err.contains(part), "no \"{part}\" in: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}
