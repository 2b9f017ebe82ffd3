"""Containers without privileges, as `unprivileged` makes them: what they lack costs nothing, or is told."""

from support import FISHPLATE, HERE, MpiTest, bench, stack, testbed

UNPRIVILEGED = HERE / "unprivileged"


class Containers(MpiTest):
    """A user and a host without names, no home or a read-only one, no /dev/shm."""

    def test_ranks_in_containers(self):
        """As with `mpiexec apptainer exec`. MPICH itself needs /dev/shm."""
        ran = self.mpi(2, UNPRIVILEGED, bench("stress"), "--messages", 2000, CONTAINER_SHM="yes")
        self.assertEqual(self.succeeds(ran, "all contents right").shares().keys(), {"r0", "r1"}, str(ran))

    def test_launcher_and_ranks_in_a_container(self):
        """As with `docker run`. Open MPI itself needs HOME to be set."""
        home = self.temporary_folder()
        job = testbed("--", FISHPLATE, "run", "--mpi", "openmpi", "--", "mpiexec", "-n", 4,
                      bench("stress", "openmpi"), "--messages", 2000)
        stacks = {"FISHPLATE_CACHE": str(stack("openmpi").parents[1])}
        ran = self.run_command([UNPRIVILEGED, *job], environment={"CONTAINER_HOME": str(home), **stacks})
        self.assertEqual(self.succeeds(ran, "all contents right").shares().keys(), {"r0", "r1", "shm"}, str(ran))

    def test_the_program_in_a_container(self):
        self.succeeds(self.run_command([UNPRIVILEGED, FISHPLATE, "rails"]), "interface")
        ran = self.run_command([UNPRIVILEGED, FISHPLATE, "run", "--", "sh", "-c", "echo $FI_PROVIDER"])
        self.assertEqual(self.succeeds(ran, warns="no process of this program used Fishplate").out, "fishplate\n")

    def test_stacks_need_a_folder_that_can_be_written_to(self):
        where = [UNPRIVILEGED, FISHPLATE, "setup", "--where", "mpich"]
        self.fails(self.run_command(where, environment={"FISHPLATE_CACHE": ""}), "set FISHPLATE_CACHE or HOME")
        home = {"CONTAINER_HOME": str(self.temporary_folder()), "FISHPLATE_CACHE": ""}
        ran = self.run_command([UNPRIVILEGED, FISHPLATE, "setup", "--stack", "mpich"], environment=home)
        self.fails(ran, r"cannot make the folder .*/\.cache/fishplate \(FISHPLATE_CACHE names another folder\)",
                   "Read-only file system")
