"""Installs what a release consists of where nothing else is, and runs a short MPI program with it."""

import os
import subprocess
import sys
import tarfile
import venv

# Messages of 1 MiB between two hosts over two rails.
PROGRAM = ["mpiexec", "-n", "2", "python3", "-m", "mpi4py.bench", "pingpong", "--min-size", "1048576", "--max-size", "1048576",
           "--loop-large", "3"]
TESTBED = ["testbed", "--rails", "1000,250", "--"]


def run(*command, **options):
    """What a command says, which must succeed."""
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, **options).stdout.strip()


def clean(**variables):
    """The environment without Fishplate's settings and libfabric's."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("FISHPLATE_", "FI_")) or name == "FISHPLATE_CACHE"}
    return {**kept, **variables}


def use(program, version):
    """Runs the program and, by it, an MPI program; what was done."""
    told = run(program, "--version")
    if told != f"fishplate {version}":
        raise SystemExit(f"make release: {program} says it is {told}, not {version}")
    bed = subprocess.run([program, *TESTBED, "true"], capture_output=True, text=True)
    if bed.returncode != 0:
        return f"{told} starts; no MPI program was run: {bed.stderr.strip()}"
    run(program, "setup", "--stack", "mpich", env=clean())
    job = [program, *TESTBED, program, "run", "--mpi", "mpich", "--", *PROGRAM]
    ran = subprocess.run(list(map(str, job)), capture_output=True, text=True, env=clean())
    carried = [rail for rail in ("r0", "r1") if f"{rail} " in ran.stderr]
    if ran.returncode != 0 or len(carried) < 2:
        raise SystemExit(f"make release: {program} carried no MPI program over two rails:\n{ran.stdout}{ran.stderr}")
    return f"{told}, and an MPI program over {' and '.join(carried)}"


def installed_wheel(file, home):
    """The program of a wheel in an environment of Python's own."""
    venv.create(home, with_pip=True)
    run(home / "bin/python3", "-m", "pip", "install", "--quiet", "--no-index", file, env=clean())
    return home / "bin/fishplate"


def installed_deb(file, root):
    """The program of a Debian package below a folder, with a list of packages that is empty."""
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    # The dependencies are those of the machine.
    dpkg = ["dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--log=/dev/null", "--install", file]
    run(*as_root(), *dpkg)
    return root / "usr/bin/fishplate"


def as_root(*namespaces):
    """What goes before a command that root runs, in new namespaces of these kinds."""
    kinds = [*([] if os.geteuid() == 0 else ["--map-root-user"]), *namespaces]
    return ["unshare", *kinds] if kinds else []


def unpack(file, folder):
    """The tarball's tree in a folder."""
    with tarfile.open(file) as tar:
        tar.extractall(folder)
    return folder / file.name.removesuffix("-vendored.tar.gz")


def without_network(folder):
    """Options of a command that has neither a network nor crates from elsewhere: what goes before it, and its environment."""
    (folder / "cargo").mkdir(exist_ok=True)
    alone = as_root("--net")
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        # No namespaces here: that the tarball tells cargo to be offline has to do.
        alone = []
    left = {"CARGO_TARGET_DIR", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    environment = {name: value for name, value in clean(CARGO_HOME=str(folder / "cargo")).items() if name not in left}
    return alone, environment


def installed_source(file, folder):
    """The program of a tarball, built and installed without a network."""
    tree = unpack(file, folder)
    alone, environment = without_network(folder)
    print(f"{file.name}: is built without a network", file=sys.stderr, flush=True)
    run(*alone, "make", cwd=tree, env=environment)
    run("make", "install", f"PREFIX={folder}/installed", cwd=tree, env=environment)
    return folder / "installed/bin/fishplate"
