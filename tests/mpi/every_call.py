"""A program that calls each function of MPI that a profile knows once, legally, on two ranks; and what a profile has to say of
it: calls, and bytes sent and received, of each function and rank."""

import re
from collections import Counter, defaultdict
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "lab" / "profile" / "src" / "calls.txt"
# Collective operations by what a trace calls them, where that is not their name.
KINDS = {"bcast": "broadcast", "reduce_scatter_block": "reduce_scatter", "exscan": "scan"}
COLLECTIVE = {"barrier", "broadcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter", "scan",
              "neighbor_allgather", "neighbor_alltoall"}
# Those that have to do with other programs; `spawning` and `connecting` call them.
ELSEWHERE = {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"}
# Those that begin and end recording.
BEGIN_AND_END = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize", "MPI_Abort",
                 "MPI_Pcontrol"}

# Of what was begun last.
WAIT = "MPI_Wait(&request, &status);"

# What the calls read and write is in tests/programs.
HEAD = """#include "every_call.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);"""


# Lines of the table, in words.
LINES = [words for words in map(str.split, TABLE.read_text().splitlines()) if words and not words[0].startswith("#")]
# Calls that make a communicator.
MAKERS = {words[1] for words in LINES if words[0] == "manage" and set(words[3:]) & {"z", "W"}}


def table():
    """All calls that a profile knows: names."""
    names = []
    for words in LINES:
        forms = words[2]
        plain = [f"MPI_{words[1]}"]
        plain += [f"MPI_I{words[1].lower()}"] if "I" in forms else []
        plain += [f"MPI_{words[1]}_init"] if "P" in forms else []
        names += plain + ([f"{name}_c" for name in plain] if "C" in forms else [])
    return names


def collective(name):
    """Which collective operation a call is, in a trace; nothing if it is none."""
    base = name.removeprefix("MPI_").removesuffix("_c")
    if base in MAKERS:
        return "make"
    base = base.removesuffix("_init").lower()
    for name in (base, base.removeprefix("i")):
        # Those with a size for each rank are of the kind of those with one for all.
        kind = KINDS.get(name, name)
        for found in (kind, kind.rstrip("vw")):
            if found in COLLECTIVE:
                return found.replace("_", "")
    return None


def shown(text):
    """What lines of `fishplate trace show` have: collective operations by kind, bytes sent, written and read."""
    found = Counter(kind for kind in re.findall(r"  (\w+) on \d+(?:, root \d+)?: sends", text))
    for what, pattern in [("sent", r"send of (\d+) B"), ("written", r"writes (\d+) B"), ("read", r"reads (\d+) B")]:
        found[what] = sum(map(int, re.findall(pattern, text)))
    return found


class Program:
    """The text, and what is to be counted."""

    def __init__(self, exists):
        self.known = set(table())
        self.exists = exists
        self.lines = []
        # By rank and function: calls, bytes sent, bytes received.
        self.wanted = [defaultdict(lambda: [0, 0, 0]) for _ in range(2)]
        self.count({0, 1}, "MPI_Init(")

    def count(self, ranks, text):
        for name in re.findall(r"\bMPI_\w+(?=\()", text):
            if name in self.known:
                for rank in ranks:
                    self.wanted[rank][name][0] += 1

    def do(self, text, *, rank=None, **bytes_of):
        """Statements of both ranks, or of one; bytes of functions: (sent, received), or these for each rank."""
        ranks = {0, 1} if rank is None else {rank}
        self.lines.append(text if rank is None else f"if (rank == {rank}) {{ {text} }}")
        self.count(ranks, text)
        for name, moved in bytes_of.items():
            for one in ranks:
                sent, received = moved[one] if isinstance(moved[0], tuple) else moved
                self.wanted[one][f"MPI_{name}"][1] += sent
                self.wanted[one][f"MPI_{name}"][2] += received

    def traced(self, rank):
        """What a trace of a rank is to have, as `shown` tells."""
        kinds = {words[1]: words[0] for words in LINES}
        found = Counter()
        for name, (count, sent, received) in self.wanted[rank].items():
            base = name.removeprefix("MPI_").removesuffix("_c")
            if operation := collective(name):
                found[operation] += count
            elif kinds.get(base) == "one-sided":
                found["written"] += sent
                found["read"] += received
            elif kinds.get(base) in ("send", "send-init", "exchange"):
                found["sent"] += sent
        return found

    def large(self, name):
        """The function, and the one with large counts, as far as they are there."""
        return [one for one in (name, f"{name}_c") if f"MPI_{one}" in self.exists]

    def call(self, base, arguments, moved=(0, 0), after="", rank=None):
        """The call, and the one with large counts, as far as they are there; what comes after; (sent, received), or these for each
        rank."""
        for name in self.large(base):
            self.do(f"MPI_{name}({arguments}); {after}", rank=rank, **{name: moved})

    def has(self, name):
        return f"MPI_{name}" in self.exists

    # A message from rank 0 to rank 1.

    def sends(self):
        for base in ["Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend", "Send_init", "Bsend_init",
                     "Ssend_init", "Rsend_init"]:
            for name in self.large(base):
                self.do("MPI_Irecv(in, 10, MPI_BYTE, 0, 1, world, &request);", rank=1, Irecv=(0, 10))
                self.do("MPI_Barrier(world);")
                more = ", &request" if base[0] == "I" or "init" in base else ""
                start = f"MPI_Start(&request); {WAIT} MPI_Request_free(&request);" if "init" in base else ""
                self.do(f"MPI_{name}(out, 10, MPI_BYTE, 1, 1, world{more}); {start}", rank=0, **{name: (10, 0)})
                self.do(WAIT)

    def receives(self):
        for base in ["Recv", "Irecv", "Recv_init", "Mrecv", "Imrecv"]:
            for name in self.large(base):
                self.do("MPI_Send(out, 10, MPI_BYTE, 1, 1, world);", rank=0, Send=(10, 0))
                end = "&request" if base[0] == "I" or "init" in base else "&status"
                found, source = "", "MPI_ANY_SOURCE, MPI_ANY_TAG, world"
                if "mrecv" in base.lower():
                    found, source = "MPI_Mprobe(0, 1, world, &message, &status);", "&message"
                start = f"MPI_Startall(1, &request); {WAIT} MPI_Request_free(&request);" if "init" in base else ""
                self.do(f"{found} MPI_{name}(in, 20, MPI_BYTE, {source}, {end}); {start} {WAIT}", rank=1, **{name: (0, 10)})
        self.do("MPI_Send(out, 10, MPI_BYTE, 1, 2, world);", rank=0, Send=(10, 0))
        self.do("MPI_Probe(0, 2, world, &status); MPI_Iprobe(0, 2, world, &flag, &status); "
                "MPI_Improbe(0, 2, world, &flag, &message, &status); MPI_Mrecv(in, 10, MPI_BYTE, &message, &status);", rank=1,
                Mrecv=(0, 10))
        # (MPICH 5.0.2 does not say what those with requests have got; the room for it is counted.)
        for base, room, end, wait in [("Sendrecv", 20, "&status", ""), ("Isendrecv", 10, "&request", WAIT)]:
            self.call(base, f"out, 10, MPI_BYTE, other, 3, in, {room}, MPI_BYTE, other, 3, world, {end}", (10, 10), wait)
            self.call(f"{base}_replace", f"out, 10, MPI_BYTE, other, 3, other, 3, world, {end}", (10, 10), wait)

    def partitions(self):
        for ready in ["MPI_Pready(0, request);", "MPI_Pready_range(0, 0, request);", "MPI_Pready_list(1, zero, request);"]:
            self.do(f"MPI_Psend_init(out, 1, 10, MPI_BYTE, 1, 4, world, MPI_INFO_NULL, &request); MPI_Start(&request); {ready}",
                    rank=0, Psend_init=(10, 0))
            self.do("MPI_Precv_init(in, 1, 10, MPI_BYTE, 0, 4, world, MPI_INFO_NULL, &request); MPI_Start(&request); "
                    "MPI_Parrived(request, 0, &flag);", rank=1, Precv_init=(0, 10))
            self.do("MPI_Wait(&request, &status); MPI_Request_free(&request);")

    def completions(self):
        for text in ["MPI_Waitany(2, requests, which, &status);", "MPI_Waitall(2, requests, statuses);",
                     "MPI_Waitsome(2, requests, &found, which, statuses);", "MPI_Test(requests, &flag, &status);",
                     "MPI_Testany(2, requests, which, &flag, &status);", "MPI_Testall(2, requests, &flag, statuses);",
                     "MPI_Testsome(2, requests, &found, which, statuses);",
                     "MPI_Request_get_status(requests[0], &flag, &status);",
                     "MPI_Request_get_status_any(2, requests, which, &flag, &status);",
                     "MPI_Request_get_status_all(2, requests, &flag, statuses);",
                     "MPI_Request_get_status_some(2, requests, &found, which, statuses);"]:
            if re.match(r"\w+", text)[0] in self.exists:
                self.do("MPI_Irecv(in, 10, MPI_BYTE, other, 5, world, &requests[0]); "
                        "MPI_Isend(out, 10, MPI_BYTE, other, 5, world, &requests[1]); "
                        f"{text} MPI_Waitall(2, requests, statuses);", Irecv=(0, 10), Isend=(10, 0))
        self.do("MPI_Irecv(in, 10, MPI_BYTE, other, 6, world, &request); MPI_Cancel(&request); MPI_Wait(&request, &status);")
        self.do("MPI_Grequest_start(query, released, cancelled, NULL, &request); MPI_Grequest_complete(request); "
                "MPI_Wait(&request, &status);")
        self.do("MPI_Pcontrol(1);")

    def buffers(self):
        session = "MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);", "MPI_Session_finalize(&session);"
        for names, of, before, after in [
            ("Buffer_{}", "", "", ""), ("Comm_{}_buffer", "world", "", ""), ("Session_{}_buffer", "session", *session)]:
            attach, detach, flush, iflush = map(names.format, ("attach", "detach", "flush", "iflush"))
            first = f"{of}, " if of else ""
            self.do(before)
            for name, other in zip(self.large(attach), self.large(detach)):
                size, flushes = "detached_size_c", ""
                if not name.endswith("_c"):
                    size = "detached_size"
                    flushes = f"MPI_{flush}({of}); " if self.has(flush) else ""
                    flushes += f"MPI_{iflush}({first}&request); MPI_Wait(&request, &status); " if self.has(iflush) else ""
                self.do(f"MPI_{name}({first}room, sizeof room); {flushes}MPI_{other}({first}&detached, &{size});")
            self.do(after)
        self.do("MPI_Buffer_attach(room, sizeof room);")

    def collectives(self):
        both = lambda *each: each
        root = lambda sent, received, less_sent, less_received: ((sent, received), (less_sent, less_received))
        for base, arguments, moved in [
            ("Barrier", "", (0, 0)),
            ("Bcast", "out, 10, MPI_BYTE, 0, ", root(10, 0, 0, 10)),
            ("Gather", "out, 10, MPI_BYTE, in, 10, MPI_BYTE, 0, ", root(10, 20, 10, 0)),
            ("Gatherv", "out, two[rank], MPI_BYTE, in, {two}, {at}, MPI_BYTE, 0, ", root(10, 30, 20, 0)),
            ("Scatter", "out, 10, MPI_BYTE, in, 10, MPI_BYTE, 0, ", root(20, 10, 0, 10)),
            ("Scatterv", "out, {two}, {at}, MPI_BYTE, in, two[rank], MPI_BYTE, 0, ", root(30, 10, 0, 20)),
            ("Allgather", "out, 10, MPI_BYTE, in, 10, MPI_BYTE, ", (10, 20)),
            ("Allgatherv", "out, two[rank], MPI_BYTE, in, {two}, {at}, MPI_BYTE, ", both((10, 30), (20, 30))),
            ("Alltoall", "out, 10, MPI_BYTE, in, 10, MPI_BYTE, ", (20, 20)),
            ("Alltoallv", "out, {same}, {at}, MPI_BYTE, in, {same}, {at}, MPI_BYTE, ", (20, 20)),
            ("Alltoallw", "out, {same}, {at}, types, in, {same}, {at}, types, ", (20, 20)),
            ("Reduce", "out, in, 10, MPI_INT, MPI_SUM, 0, ", root(40, 40, 40, 0)),
            ("Allreduce", "out, in, 10, MPI_INT, MPI_SUM, ", (40, 40)),
            ("Reduce_scatter", "out, in, {two}, MPI_INT, MPI_SUM, ", both((120, 40), (120, 80))),
            ("Reduce_scatter_block", "out, in, 10, MPI_INT, MPI_SUM, ", (80, 40)),
            ("Scan", "out, in, 10, MPI_INT, MPI_SUM, ", (40, 40)),
            ("Exscan", "out, in, 10, MPI_INT, MPI_SUM, ", (40, 40)),
            ("Neighbor_allgather", "out, 10, MPI_BYTE, in, 10, MPI_BYTE, ", (10, 20)),
            ("Neighbor_allgatherv", "out, 10, MPI_BYTE, in, {same}, {at}, MPI_BYTE, ", (10, 20)),
            ("Neighbor_alltoall", "out, 10, MPI_BYTE, in, 10, MPI_BYTE, ", (20, 20)),
            ("Neighbor_alltoallv", "out, {same}, {at}, MPI_BYTE, in, {same}, {at}, MPI_BYTE, ", (20, 20)),
            ("Neighbor_alltoallw", "out, {same}, at_c, types, in, {same}, at_c, types, ", (20, 20)),
        ]:
            comm = "cart" if base.startswith("Neighbor") else "world"
            for form in (base, f"I{base.lower()}", f"{base}_init"):
                for name in self.large(form):
                    filled = arguments.format(**{one: f"{one}_c" if name.endswith("_c") else one for one in ("two", "same", "at")})
                    more = {base: "", f"{base}_init": ", MPI_INFO_NULL, &request"}.get(form, ", &request")
                    start, free = ("MPI_Start(&request);", "MPI_Request_free(&request);") if form.endswith("_init") else ("", "")
                    wait = "" if form == base else WAIT
                    self.do(f"MPI_{name}({filled}{comm}{more}); {start} {wait} {free}", **{name: moved})

    def communicators(self):
        free = " MPI_Comm_free(&{});"
        for text in [
            "MPI_Comm_dup(world, &comm); MPI_Comm_set_name(comm, \"x\");",
            "MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &comm);",
            "MPI_Comm_idup(world, &comm, &request); MPI_Wait(&request, &status);",
            "MPI_Comm_idup_with_info(world, MPI_INFO_NULL, &comm, &request); MPI_Wait(&request, &status);",
            "MPI_Comm_create(world, group, &comm);", "MPI_Comm_create_group(world, group, 1, &comm);",
            "MPI_Comm_create_from_group(group, \"a\", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);",
            "MPI_Comm_split(world, 0, other, &comm);",
            "MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);",
            "MPI_Graph_create(world, 2, graph_index, graph_edges, 0, &comm);",
            "MPI_Dist_graph_create(world, 1, &rank, ones, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);",
            "MPI_Dist_graph_create_adjacent(world, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);",
            "MPI_Cart_sub(cart, ones, &comm);",
        ]:
            if re.match(r"\w+", text)[0] in self.exists:
                # Used, so that its ranks are known.
                self.do(f"{text} MPI_Sendrecv(out, 1, MPI_BYTE, other, 7, in, 1, MPI_BYTE, other, 7, world, &status);"
                        + " MPI_Barrier(comm);" + free.format("comm"), Sendrecv=(1, 1))
        self.do("MPI_Intercomm_create(MPI_COMM_SELF, 0, world, other, 8, &inter); MPI_Barrier(inter); "
                "MPI_Intercomm_merge(inter, rank, &made); MPI_Barrier(made); MPI_Comm_free(&made); MPI_Comm_disconnect(&inter);")
        if self.has("Intercomm_create_from_groups"):
            self.do("MPI_Group others; MPI_Group_incl(group, 1, &other, &others); "
                    "MPI_Intercomm_create_from_groups(own, 0, others, 0, \"b\", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter); "
                    "MPI_Barrier(inter); MPI_Comm_free(&inter); MPI_Group_free(&others);")

    def windows(self):
        for base, arguments in [("Win_create", "room, sizeof room, 1, MPI_INFO_NULL, world, &window"),
                                ("Win_allocate", "4096, 1, MPI_INFO_NULL, world, &memory, &window"),
                                ("Win_allocate_shared", "4096, 1, MPI_INFO_NULL, world, &memory, &window")]:
            self.call(base, arguments, after="MPI_Win_free(&window);")
        self.do("MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window); MPI_Win_free(&window);")
        self.do("MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &memory, &window); MPI_Win_fence(0, window);")
        bytes_, ints = "10, MPI_BYTE, other, 0, 10, MPI_BYTE", "10, MPI_INT, other, 64, 10, MPI_INT"
        moved = {"Put": (f"out, {bytes_}", (10, 0)), "Get": (f"in, {bytes_}", (0, 10)),
                 "Accumulate": (f"out, {ints}, MPI_SUM", (40, 0)),
                 "Get_accumulate": (f"out, 10, MPI_INT, in, {ints}, MPI_SUM", (40, 40))}
        for base, (arguments, of) in moved.items():
            self.call(base, f"{arguments}, window", of, "MPI_Win_fence(0, window);")
        self.do("MPI_Fetch_and_op(out, in, MPI_INT, other, 0, MPI_SUM, window); MPI_Win_fence(0, window);", Fetch_and_op=(4, 4))
        self.do("MPI_Compare_and_swap(out, out, in, MPI_INT, other, 0, window); MPI_Win_fence(MPI_MODE_NOSUCCEED, window);",
                Compare_and_swap=(4, 4))
        self.do("MPI_Win_lock_all(0, window);")
        for base, (arguments, of) in moved.items():
            self.call(f"R{base.lower()}", f"{arguments}, window, &request", of, WAIT)
        self.do("MPI_Win_flush(other, window); MPI_Win_flush_all(window); MPI_Win_flush_local(other, window); "
                "MPI_Win_flush_local_all(window); MPI_Win_sync(window); MPI_Win_unlock_all(window);")
        self.do("MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window); MPI_Win_unlock(other, window); MPI_Barrier(world);")
        self.do("{ MPI_Group others; MPI_Group_incl(group, 1, &other, &others); MPI_Win_post(others, 0, window); "
                "MPI_Win_start(others, 0, window); MPI_Win_complete(window); MPI_Win_wait(window); "
                "MPI_Win_post(others, 0, window); MPI_Win_start(others, 0, window); MPI_Win_complete(window); "
                "MPI_Win_test(window, &flag); if (!flag) PMPI_Win_wait(window); MPI_Group_free(&others); }")
        self.do("MPI_Win_free(&window);")

    def files(self):
        self.do("MPI_File_open(world, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file); "
                "MPI_File_set_size(file, 4096); MPI_File_preallocate(file, 4096); "
                "MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, \"native\", MPI_INFO_NULL);")
        for way, buffer in [("write", "out"), ("read", "in")]:
            moved = (10, 0) if way == "write" else (0, 10)
            self.do("MPI_File_sync(file); MPI_Barrier(world); PMPI_File_seek(file, 0, MPI_SEEK_SET); "
                    "PMPI_File_seek_shared(file, 0, MPI_SEEK_SET);")
            for where, offset in [("", ""), ("_all", ""), ("_at", "40 * rank, "), ("_at_all", "40 * rank, "), ("_shared", ""),
                                  ("_ordered", "")]:
                what = f"file, {offset}{buffer}, 10, MPI_BYTE"
                self.call(f"File_{way}{where}", f"{what}, &status", moved)
                self.call(f"File_i{way}{where}", f"{what}, &request", moved, WAIT)
                self.call(f"File_{way}{where}_begin", what, moved, f"MPI_File_{way}{where}_end(file, {buffer}, &status);")
        self.do("MPI_File_close(&file);")

    def text(self):
        self.do("MPI_Cart_create(world, 1, dims, ones, 0, &cart);")
        self.buffers()
        for part in (self.sends, self.receives, self.partitions, self.completions, self.collectives, self.communicators,
                     self.windows, self.files):
            part()
            self.do("MPI_Barrier(world);")
        self.do("MPI_Comm_free(&cart); MPI_Buffer_detach(&detached, &detached_size); "
                "if (rank == 0) puts(\"all right\"); MPI_Finalize();")
        lines = "\n    ".join(line for line in self.lines if line)
        return f"{HEAD}\n    {lines}\n    return 0;\n}}\n"
