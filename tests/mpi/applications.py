"""How tests run applications, and what is wrong with their options or files."""

from support import MpiTest, app, stack


class AppTest(MpiTest):
    """A test of applications."""

    def verified(self, ranks, name, *options):
        """The line of a run over two rails, whose result is right."""
        ran = self.ends_well(self.mpi(ranks, app(name), *options, "--json"))
        [line] = ran.json()
        self.assertEqual((line["kind"], line["checked"], line["ranks"]), ("result", True, ranks), str(ran))
        return line

    def refuses(self, code, command, *texts, ranks=1):
        """An exit code and its message."""
        start = [stack("mpich") / "mpiexec", "-n", ranks] if ranks > 1 else []
        self.ends_with(code, self.run_command([*start, *command]), *texts)
