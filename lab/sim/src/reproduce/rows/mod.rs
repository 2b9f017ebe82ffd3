//! How the value of each row is found. Nothing here knows what the papers found.

mod applications;
mod endapps;
mod files;
mod gromacs;
mod multirail;
mod pecnit;
mod wan;

use super::experiments::{Experiments, Values};
use crate::suite::Benchmark::{Bandwidth, Bibandwidth};

/// A row.
pub struct Row {
    /// As in the table of facts.
    pub id: &'static str,
    /// The paper.
    pub paper: &'static str,
    /// Simulates it.
    pub find: fn(&Experiments) -> Result<Values, String>,
}

const fn row(id: &'static str, paper: &'static str, find: fn(&Experiments) -> Result<Values, String>) -> Row {
    Row { id, paper, find }
}

const M: &str = "multirail-2004";
const E: &str = "endapps-2006";
const D: &str = "pecnit-2007";
const W: &str = "wan-2008";

/// All rows.
pub const ROWS: &[Row] = &[
    row("M1", M, multirail::smallest_latency),
    row("M2", M, |all| multirail::peak(all, "figure 7", &multirail::ORIGINAL, Bandwidth)),
    row("M3", M, |all| multirail::peak(all, "figure 8", &multirail::ORIGINAL, Bibandwidth)),
    row("M4", M, |all| multirail::peak(all, "figure 7", &multirail::MULTIRAIL, Bandwidth)),
    row("M5", M, |all| multirail::peak(all, "figure 8", &multirail::MULTIRAIL, Bibandwidth)),
    row("M6", M, multirail::large_latency),
    row("M7", M, multirail::small_messages),
    row("M8", M, multirail::smp),
    row("M9", M, multirail::smp_both_ways),
    row("M10", M, multirail::collectives),
    row("M11", M, applications::fourier_transform),
    row("M12", M, applications::integer_sort),
    row("M13", M, applications::visualization),
    row("M14", M, multirail::unequal_rails),
    row("M15", M, multirail::unequal_rails_both_ways),
    row("M16", M, multirail::disturbed),
    row("E1", E, |all| endapps::latency(all, "figure 5a", &endapps::NATIVE)),
    row("E2", E, |all| endapps::throughput(all, "figure 5b", &endapps::NATIVE)),
    row("E3", E, |all| endapps::latency(all, "figure 6a", &endapps::MPI)),
    row("E4", E, |all| endapps::throughput(all, "figure 6b", &endapps::MPI)),
    row("E5", E, applications::nas_shares),
    row("E6", E, applications::nas_messages),
    row("E7", E, applications::nas_rpi),
    row("E8", E, gromacs::shares),
    row("E9", E, gromacs::relative_improvement),
    row("E10", E, files::contiguous),
    row("E11", E, files::tiles),
    row("E12", E, files::search_gain),
    row("E13", E, files::search_network),
    row("D1", D, pecnit::latency),
    row("D2", D, pecnit::bandwidth),
    row("D3", D, pecnit::half_of_peak),
    row("D4", D, pecnit::both_ways),
    row("D5", D, pecnit::put_latency),
    row("D6", D, pecnit::get_latency),
    row("D7", D, pecnit::accumulate_latency),
    row("D8", D, pecnit::put_bandwidth),
    row("D9", D, pecnit::put_both_ways),
    row("D10", D, pecnit::get_bandwidth),
    row("D11", D, pecnit::hops),
    row("D12", D, pecnit::ring),
    row("W1", W, wan::datagrams),
    row("W2", W, wan::datagrams_over_distance),
    row("W3", W, wan::connection),
    row("W4", W, wan::connection_over_distance),
    row("W5", W, wan::windows),
    row("W6", W, wan::streams),
    row("W7", W, wan::connected_ip),
    row("W8", W, wan::connected_streams),
    row("W9", W, wan::mpi_peak),
    row("W10", W, wan::threshold),
    row("W11", W, wan::pairs),
    row("W12", W, wan::broadcast),
    row("W13", W, applications::distant),
    row("W14", W, applications::distant_messages),
    row("W15", W, files::nfs_near),
    row("W16", W, files::nfs_far),
    row("W17", W, files::nfs_compared),
    row("W18", W, wan::newer_adapter),
];

/// Known reasons why a row does not hold.
pub fn why_not(id: &str) -> Option<&'static str> {
    WHY.iter().find(|(known, _)| *known == id).map(|(_, why)| *why)
}

const WHY: &[(&str, &str)] = &[
    (
        "M12",
        "the keys go through both rails at nearly twice the rate; else the model's time in MPI is the copy of a rank's own \
         keys and waiting for other ranks. How fast its processors sort the paper does not tell",
    ),
    (
        "M13",
        "size of data, pictures and passes are not published; with those of the program here, a third of the time in MPI \
         is waiting for ranks that draw more, which no rail shortens",
    ),
    (
        "E6",
        "the counts were taken from another paper: they tell 8 processes, of SP and BT 4. In CG rank 0 does not send to \
         itself here; MG exchanges borders at other places of the cycle",
    ),
    (
        "E7",
        "in the model a short message's own RPI is that of the latencies (E3: 62 %), a long one's that of the rates (E4: \
         57 %), so no program that waits for messages comes to 90 %. The computation that fits E5 is also much shorter for LU, \
         SP and BT than the paper's processors allow: their time in MPI over TCP has something in it that is in no row",
    ),
    ("E9", "the same for DPPC; a ring of messages of 91 KB is as limited by rate as one of 480 KB"),
    (
        "W13",
        "each of FT's 32 steps across waits for a handshake, and IS for its counts; with all messages of an exchange at once \
         FT would hold (1.07), but MPICH and MVAPICH2 send messages of this length pair by pair",
    ),
    (
        "D3",
        "the report gives latencies only; what they leave for a message's own cost, shared evenly among host, bus and \
         adapter, lets the model stream 1 KB at more than half of the peak",
    ),
    (
        "D4",
        "the peaks hold; the order at 1 KB would need the cost of a message in a stream of Quadrics' library, which the \
         report does not give",
    ),
    ("D7", "the jump at 4 KB is unexplained in the report (\"still rather puzzling\") and is not modelled"),
    (
        "E11",
        "ROMIO's lists of 64 rows keep all ports busy; with one row a request it would be 3.4, 2.7 and 1.9 Gbps; the paper's \
         numbers are those of some ms for a row of a tile, and it does not say how rows were asked for",
    ),
    (
        "E12",
        "in the model a database that stays in the servers' memory gives one RPI whatever its length, 61 to 65 % over all \
         ranges; the paper's two values differ",
    ),
    (
        "E13",
        "a process reads at 976 Mbit/s, above the peak of TCP and within reach of EFSockets as in the paper; it rests on 5 ns \
         of computation a byte, which no row tells, and the paper does not say of how many processes its 2 Gbit/s are",
    ),
    (
        "D11",
        "two more crossbars and their cables are 120 ns; what \"little difference\" is the report does not tell in numbers",
    ),
    (
        "W14",
        "calls are counted, and large is what has 64 KiB or more. An alltoall of 64 processes is 63 messages and a reduction \
         about 12: as messages FT has 84 %, and IS 46 %. What the paper counted, and what it calls large, it does not tell",
    ),
    (
        "W6",
        "at 1 ms a window of 1 MB lets one stream do nearly all that the receiver's core can; with 768 KB, which Linux offers \
         of a buffer of 1 MB, the gain would be 1.40, but two streams of IPoIB-RC would not hold the peak (W8)",
    ),
    (
        "W10",
        "a rendezvous needs two messages of the window of those in flight where eager sending needs one: the gain is 1.6 \
         to 2.0 for every window below the 30 messages that the paper's 64 KB messages at 1 ms allow",
    ),
    (
        "W12",
        "no two times made of a constant and a multiple of the delay give 20, 18 and 90 %; the paper does not name the \
         original algorithm, and the last step of MPICH's congests the long-distance link at every delay",
    ),
    (
        "W15",
        "within a cluster the bus of 1.5 GB/s is slower than the DDR link, so less is lost over routers of half its rate",
    ),
    (
        "W16",
        "500 and 100 MB/s are 25 and 49 fragments of 4 KB a round trip; the connection of the verbs curves has 16 messages \
         under way, and fewer than 30 by what the paper says of 64 KB at 1 ms",
    ),
    (
        "W17",
        "copies to the program are another core's work than TCP, so NFS over IPoIB comes within 6 % of TCP's own peak, \
         where the paper found little more than half of it; at 1 ms 16 calls bound RC and UD alike",
    ),
];
