"""What can be done to a rail of a testbed while a program runs: shell lines for the testbed's first host."""

from support import on_node, tool

# One instruction of the kernel's packet filter: whatever comes is dropped. (Kernels without netem have this.)
DROP = "bytecode '1,6 0 0 2'"
# What is told of a rail that was cut.
TOLD = (
    r"fishplate: warn .* rail r[01] \(.*\): "
    r"(it carried nothing|the other side has not answered|the connection was closed|Connection reset|Software caused)"
)


class Cut:
    """Something that ends connections over a rail, or may: how it begins, and how the rail is healed."""

    def __init__(self, name, begin, end="true"):
        self.name, self.begin, self.end = name, begin, end

    def __str__(self):
        return self.name

    def for_a_while(self, seconds, pause=0.2):
        """A pause, and the rail is cut for so long."""
        return f"sleep {pause}; {self.begin}; sleep {seconds}; {self.end}"


def at_once(*cuts):
    """All of these."""
    return Cut(", ".join(cut.name for cut in cuts), *("; ".join(lines) for lines in zip(*((cut.begin, cut.end) for cut in cuts))))


def on(host, command):
    """A shell line on a host."""
    return command if host == 0 else on_node(host, command)


def link_down(rail, host=0):
    """The interface is taken down: the kernels say nothing to connections, and nothing gets through."""
    set_link = lambda state: on(host, f"{tool('ip')} link set {rail} {state}")
    return Cut(f"{rail} of node{host} down", set_link("down"), set_link("up"))


def reset(rail, host=0):
    """All connections over the rail are reset."""
    address = f"10.77.{rail[1:]}.{host + 1}"
    kill = f"{tool('ss')} --no-header --kill --tcp state established src {address}"
    return Cut(f"connections over {rail} of node{host} reset", f"{on(host, kill)} > /dev/null")


def loss(rail, hosts=(0, 1)):
    """All that comes to these hosts over the rail is lost."""
    tc = tool("tc")
    drop = f"{tc} qdisc add dev {rail} clsact; {tc} filter add dev {rail} ingress bpf da {DROP}"
    begin = [on(host, drop) for host in hosts]
    end = [on(host, f"{tc} qdisc del dev {rail} clsact") for host in hosts]
    towards = " and ".join(f"node{host}" for host in hosts)
    return Cut(f"all lost over {rail} towards {towards}", "; ".join(begin), "; ".join(end))


def rates(rail, *rates_mbit, pause=0.3):
    """A shell line that gives a rail of a testbed with rates one rate after the other, both ways."""
    lines = []
    for rate in rates_mbit:
        shape = f"rate {rate}mbit ceil {rate}mbit burst 25000 cburst 25000 quantum 65536"
        change = f"{tool('tc')} class replace dev {rail} parent 1: classid 1:1 htb {shape}"
        lines += [on(0, change), on(1, change), f"sleep {pause}"]
    return "; ".join(lines)
