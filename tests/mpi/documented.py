"""Commands of the documentation, and how a machine that has only testbeds can run them."""

import re

from support import ROOT

# The tables of a page's fenced blocks that are for a shell: without a language, or `sh`.
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What stands for the reader's own hosts, interfaces, addresses and folders, and for what takes longer than a look.
STANDS_FOR = [
    (r"\ba,b\b", "node0,node1"), (r"\bdoctor a b\b", "doctor node0 node1"), (r"\beth0,eth1\b", "r0,r1"),
    (r"\b10\.0\.0\.2,fd00::2\b", "10.77.0.2,10.77.1.2"), (r"\b10\.0\.0\.2\b", "10.77.0.2"), (r"/shared/", "./"),
    (r"/path/to/lib/fishplate", f"{ROOT}/build/lib/fishplate"), (r"--schedule '4s ", "--schedule '0.1s "), (r" 8s ", " 0.2s "),
    (r"'3s r", "'0.1s r"), (r" 6s r", " 0.2s r"), (r"\| less$", "| cat"), (r"bench pingpong", "bench pingpong --loop-large 3"),
    (r"rpi --networks", "rpi --repeats 1 --networks"),
]
# What needs the hosts of a testbed, as it measures or uses what lies between them.
ON_HOSTS = re.compile(r"(^|[ =(])(fishplate (run|doctor|rails|profile -|profile --(output|trace|mpi))|mpiexec) ?")
OF_ITS_OWN = re.compile(r"fishplate (testbed|lab|bench|rpi)\b")
# Commands that are not run, and why. Each must be there.
NOT_RUN = {
    r"^git clone|^\.ci/run|^make (check|test|test-all|docs|demo)$": "these tests are a part of it",
    r"^make( |$)|^pip install |^apt install ": "tests/packages builds, installs and uses packages",
    r"^salloc |^srun |tests/slurm/": "needs Slurm: tests/slurm",
    r"^(COPY|RUN|ENV|FROM) |^docker |apptainer|podman": "needs tools for containers: test_containers goes without",
    r"fishplate bench --(stacks|hosts|storage)|fishplate bench everything": "takes minutes, a cluster or a storage: test_bench",
    r"fishplate rpi (links|--networks tcp|--hosts)|--repeats 10": "takes minutes, or a cluster: test_rpi",
    r"fishplate demo( --quick| --keep-json .*| --picture .*)?$": "takes a minute: lab/program/src/demo",
    r"fishplate setup --(stack impi|app|storage)|fishplate setup --where lammps": "asks registries for what tests do without",
    r"--storage |--name far|lab down far": "needs storage of Debian's archive: test_storage",
    r"fishplate simulate( --from .*| --throughput| --history)?$": "takes up to an hour: lab/sim/tests",
    r"fishplate top( --json.*)?$": "goes on until it is ended: test_top",
    r"fpath|~/\.config": "writes where shells look: lab/program/tests/program/help.rs",
    r"fishplate lab verify": "judges rates, which other tests beside it change: lab/program/tests/program/lab.rs",
    r"-- apps/is --class A": "takes half a minute of both processors: test_rpi",
    r"head -c 32 /dev/urandom": "writes into the home folder",
    r"-- sh$|-- \.\.\.": "is for a person to go on with",
    r"^fishplate run \[": "is a synopsis",
    r"^FISHPLATE_RAILS=\S+$": "is a setting alone",
    r"--remote-shell 'ssh": "needs a server of SSH",
    r"fishplate predict run1 eth-100g-wan --sweep .* --results": "the line before it needs Slurm: lab/program/tests/program/predict.rs",
    r"build/apps/mpich/mg --class A|predict mg ": "takes half a minute of both processors: test_predict",
}
# Those that end with another code than 0.
CODES = {r"simulate --bug|simulate --history": 1}


def lines(page):
    """The commands of a page, in turn, each with its continuation and without its comment."""
    found = []
    for language, text in FENCE.findall(page.read_text()):
        if language not in ("", "sh"):
            continue
        for line in text.replace("\\\n", " ").splitlines():
            line = re.sub(r"\s+#( .*)?$", "", line.removeprefix("$ ")).rstrip()
            if re.match(r"(\w+=\S* )*(fishplate(?!:)|make|pip|apt|eval|srun|salloc|mpiexec|git|docker|head|COPY|RUN|ENV|\.ci/run)\b", line) \
                    or re.match(r"(FISHPLATE|FI)_\w+=", line) or "apptainer" in line:
                found.append(re.sub(r" +", " ", line))
    return found


def why_not(line):
    """The reason for which a command is not run, and what it is known by."""
    return next(((pattern, why) for pattern, why in NOT_RUN.items() if re.search(pattern, line)), None)


def code(line):
    """The exit code that a command ends with."""
    return next((code for pattern, code in CODES.items() if re.search(pattern, line)), 0)


def here(line):
    """A command as it can be run here."""
    for pattern, other in STANDS_FOR:
        line = re.sub(pattern, other, line)
    return line


def needs_hosts(line):
    return bool(ON_HOSTS.search(line)) and not OF_ITS_OWN.search(line)
