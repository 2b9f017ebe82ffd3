"""Rails of libfabric's providers at length, by hand: `make test-ofi`. What of this takes seconds is in test_ofi.py."""

import test_failover
import test_mpi4py
import test_policies

# Two of a provider, for which their interfaces stand by; and one of each.
TWO = "tcp:r0,tcp:r1"
MIXED = "tcp:r0,r1"


class Policies(test_policies.Policies):
    """All settings, over one rail of each kind."""

    def mpi(self, *arguments, **settings):
        return super().mpi(*arguments, FISHPLATE_RAILS=MIXED, **settings)

    # Nothing goes over such rails then.
    test_encrypted_rails = None


class Mpi4py(test_mpi4py.Mpi4py):
    """mpi4py's own suite. What is spread in turns goes over every rail, short or long."""

    def passes(self, ranks, *arguments, **settings):
        spread = {"FISHPLATE_MULTIPLEXING": "round-robin", "FISHPLATE_STRIPING": "even"}
        for rails in [TWO, MIXED]:
            with self.subTest(rails):
                super().passes(ranks, *arguments, FISHPLATE_RAILS=rails, **spread, **settings)


class RandomCuts(test_failover.RandomCuts):
    """Cuts of a host's rail: those of both kinds that go over its interface."""

    def settings(self, chance):
        return {"FISHPLATE_RAILS": chance.choice([TWO, MIXED, "tcp:r0,tcp:r1,r0"])}
