//! Schema of a testbed's file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::parameter::Parameter;
use super::storage::Storage;

/// A testbed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Testbed {
    /// Its name.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// The nodes.
    pub host: Host,
    /// Groups of nodes, each with a switch.
    pub cluster: Vec<Cluster>,
    /// Components that each node has.
    pub rail: Vec<Rail>,
    /// The network between two clusters.
    pub wan: Option<Wan>,
    /// How data goes over rails.
    pub transport: BTreeMap<String, Transport>,
    /// MPI libraries, or what takes their place.
    pub stack: BTreeMap<String, Stack>,
    /// File systems.
    #[serde(default)]
    pub storage: BTreeMap<String, Storage>,
    /// Programs.
    #[serde(default)]
    pub application: BTreeMap<String, Application>,
    /// The default stack.
    pub default_stack: String,
    /// How many times as long as in its trace each of the papers' programs computes.
    #[serde(default)]
    pub computation: BTreeMap<String, Parameter>,
}

/// A node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Messages between processes of a node: from hand to hand.
    pub shm_latency_ns: Parameter,
    /// Rate.
    pub shm_mb_s: Parameter,
}

/// A group of nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// How many nodes.
    pub nodes: Parameter,
}

/// One way out of each node: hardware, or what emulates it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rail {
    /// Its name.
    pub name: String,
    /// Another path over the port of the rail with this name, which has all of its parts (InfiniBand's LMC).
    pub path_over: Option<String>,
    /// Between memory and adapter.
    pub bus: Option<Bus>,
    /// The adapter.
    pub adapter: Option<AdapterModel>,
    /// Between adapter and switch.
    pub link: Option<LinkModel>,
    /// The switch.
    pub switch: Option<Switch>,
    /// Instead of all these.
    pub emulated: Option<EmulatedModel>,
}

/// Components of a rail.
pub enum Parts<'a> {
    /// Hardware.
    Hardware(&'a Bus, &'a AdapterModel, &'a LinkModel, &'a Switch),
    /// An emulated rail.
    Emulated(&'a EmulatedModel),
}

impl Rail {
    /// Its components; `None` if some are missing or contradictory.
    pub fn parts(&self) -> Option<Parts<'_>> {
        match (&self.bus, &self.adapter, &self.link, &self.switch, &self.emulated) {
            (Some(bus), Some(adapter), Some(link), Some(switch), None) => {
                Some(Parts::Hardware(bus, adapter, link, switch))
            }
            (None, None, None, None, Some(emulated)) => Some(Parts::Emulated(emulated)),
            _ => None,
        }
    }

    /// Speed reported to a driver, in bytes per second.
    pub fn speed(&self) -> f64 {
        let mbit = match self.parts() {
            Some(Parts::Hardware(_, _, link, _)) => link.mbit.value,
            Some(Parts::Emulated(emulated)) => emulated.told_mbit.value,
            None => 0.0,
        };
        mbit * 1e6 / 8.0
    }
}

/// A rail of `fishplate lab`: two interfaces with a shaper or an emulator between them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulatedModel {
    /// The mechanism that delays frames.
    pub by: Emulation,
    /// Rate, bits on the wire.
    pub mbit: Parameter,
    /// One way.
    pub delay_us: Parameter,
    /// Delay of frames beyond the modelled one, with an emulator.
    pub late_us: Parameter,
    /// Time of the emulator's process for each frame, shared by all rails.
    pub frame_us: Parameter,
    /// How late a shaper's timer is.
    pub timer_us: Parameter,
    /// Bucket of a shaper, as time at the rate.
    pub bucket_us: Parameter,
    /// Longest offload frame: payload that the kernel hands to an interface at once.
    pub frame_bytes: Parameter,
    /// Bytes of a packet on the wire beyond its headers: preamble, check sequence, gap. A shaper does not count them.
    pub gap_bytes: Parameter,
    /// Rate that the interface reports.
    pub told_mbit: Parameter,
    /// A switch is between the hosts, whose port to the receiver has the rail's rate too. Otherwise only senders are limited.
    #[serde(default)]
    pub switched: bool,
}

/// Mechanisms that delay the frames of an emulated rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Emulation {
    /// The kernel's shaper (HTB).
    Shaper,
    /// `fishplate_link` in user space.
    Emulator,
}

/// An I/O bus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Rails with equal names share it.
    pub name: String,
    /// Both directions take turns (PCI, PCI-X), or not (PCI Express).
    pub shared: bool,
    /// Rate at which an adapter reads memory.
    pub read_mb_s: Parameter,
    /// Rate at which it writes memory.
    pub write_mb_s: Parameter,
    /// Of each access.
    pub latency_ns: Parameter,
    /// Unit of reads and writes, which adapters forward before the rest of the packet is there; absent: whole packets.
    pub burst_bytes: Option<Parameter>,
}

/// An adapter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterModel {
    /// To begin a message.
    pub send_message_ns: Parameter,
    /// To take one in.
    pub receive_message_ns: Parameter,
    /// For each packet.
    pub packet_ns: Parameter,
    /// Memory for data on its way out.
    pub memory_bytes: Parameter,
}

/// A link of the adapter, and its like on the switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkModel {
    /// Rate after encoding.
    pub mbit: Parameter,
    /// Payload of a packet.
    pub mtu_bytes: Parameter,
    /// Bytes of each packet around its payload.
    pub overhead_bytes: Parameter,
    /// Flight.
    pub cable_ns: Parameter,
}

/// A switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Cut-through: a packet is forwarded while it is being received.
    pub cut_through: bool,
    /// Through one crossbar.
    pub latency_ns: Parameter,
    /// Nodes on one crossbar, where the switch has several tiers: between two blocks there are three of them.
    pub block_nodes: Option<Parameter>,
    /// Links of a block to crossbars above, one to each, as fast as the nodes' links (a fat tree of two tiers); absent: links
    /// between blocks are never full.
    pub uplinks: Option<Parameter>,
}

/// A pair of long-distance routers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wan {
    /// Rate after encoding.
    pub mbit: Parameter,
    /// Bytes of each packet around its payload.
    pub overhead_bytes: Parameter,
    /// Of both routers, without any distance.
    pub routers_ns: Parameter,
    /// One way.
    pub delay_us: Parameter,
}

/// How data goes over rails.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Which one.
    pub kind: Kind,
    /// Messages that may be under way (reliable connections).
    pub messages_in_flight: Option<Parameter>,
    /// Bytes that may be under way (TCP).
    pub window_bytes: Option<Parameter>,
    /// Bytes that may be under way between near hosts, where the congestion window keeps its size (TCP over emulated
    /// rails).
    pub near_window_bytes: Option<Parameter>,
    /// Initial window of a connection between distant hosts (TCP over emulated rails); it grows by the bytes
    /// acknowledged. Absent: it is open from the start.
    pub first_window_bytes: Option<Parameter>,
    /// The kernel accepts data from a socket's driver while fewer bytes are unsent (TCP over emulated rails); absent:
    /// it accepts all.
    pub unsent_bytes: Option<Parameter>,
    /// Payload of a packet, where it is not the link's.
    pub mtu_bytes: Option<Parameter>,
    /// Headers of a packet beyond the link's.
    pub header_bytes: Option<Parameter>,
    /// Protocol code: for each message, on each side.
    pub message_ns: Option<Parameter>,
    /// Protocol code of the sender: for each packet.
    pub send_packet_ns: Option<Parameter>,
    /// Protocol code of the receiver: for each packet.
    pub receive_packet_ns: Option<Parameter>,
    /// Protocol code: copying and summing a byte, on each side.
    pub byte_ps: Option<Parameter>,
}

/// Kinds of transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reliable connection.
    Rc,
    /// Unreliable datagrams.
    Ud,
    /// Protocol code on the host, with a window: kernel TCP, TCP in user space, sockets direct.
    Tcp,
}

/// An MPI library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// One sentence.
    pub about: String,
    /// It stands for verbs or sockets alone, whose messages have no headers.
    #[serde(default)]
    pub native: bool,
    /// Its engines acknowledge by frames of their own, as over real sockets; otherwise adapters do.
    #[serde(default)]
    pub acknowledges: bool,
    /// Paths are not measured by padding.
    #[serde(default)]
    pub without_padding: bool,
    /// Over what.
    pub transport: String,
    /// The file system that benchmarks of files use over it; absent: none.
    pub storage: Option<String>,
    /// Rails used, by position.
    pub rails: Vec<usize>,
    /// Longest message without a rendezvous; absent: as the engine finds best.
    pub eager_limit_bytes: Option<Parameter>,
    /// How whole messages are spread.
    pub multiplexing: Option<String>,
    /// How long ones are cut.
    pub striping: Option<String>,
    /// Bytes that may wait in an adapter, for policies that decide late.
    pub queue_bytes: Option<Parameter>,
    /// Unexpected messages that a peer may leave, at first; absent: as many as there are.
    pub grant_bytes: Option<Parameter>,
    /// Longest message that is copied when it is posted, where there is no fixed `eager_limit_bytes`: its sender does not
    /// wait for it.
    pub inject_bytes: Option<Parameter>,
    /// See `mpi::costs`.
    pub transmit_ns: Option<Parameter>,
    /// See `mpi::costs`.
    pub fetch_ns: Option<Parameter>,
    /// See `mpi::costs`; absent: 0, what a byte costs is the transport's.
    pub send_byte_ps: Option<Parameter>,
    /// Likewise for received data.
    pub receive_byte_ps: Option<Parameter>,
    /// See `mpi::costs`: how far interruptions are apart.
    pub interruption_every_ns: Option<Parameter>,
    /// How long they are; absent: there are none.
    pub interruption_ns: Option<Parameter>,
    /// See `mpi::costs`.
    pub burst_messages: Option<Parameter>,
    /// A call.
    pub call_ns: Parameter,
    /// See `mpi::costs`.
    pub eager_send_ns: Parameter,
    /// See `mpi::costs`.
    pub eager_receive_ns: Parameter,
    /// Rate of copies of eager messages; absent: none are made.
    pub copy_mb_s: Option<Parameter>,
    /// Rate of the copy of a rank's own part of an all-to-all exchange; absent: it takes no time.
    pub own_part_mb_s: Option<Parameter>,
    /// See `mpi::costs`.
    pub control_ns: Parameter,
    /// See `mpi::costs`.
    pub rdma_send_ns: Parameter,
    /// See `mpi::costs`.
    pub rdma_receive_ns: Parameter,
    /// See `mpi::costs`.
    pub register_ns: Parameter,
    /// See `mpi::costs`.
    pub synchronise_ns: Option<Parameter>,
    /// See `mpi::costs`.
    pub read_ns: Option<Parameter>,
    /// One-sided reads that may be under way at a time; absent: any number.
    pub reads_in_flight: Option<Parameter>,
    /// One-sided writes up to this length are messages to the target's process; absent: none are.
    pub put_by_message_bytes: Option<Parameter>,
    /// The target's process answers one-sided reads up to this length; absent: none.
    pub get_by_message_bytes: Option<Parameter>,
    /// See `mpi::costs`.
    pub accumulate_ns: Option<Parameter>,
}

/// A program that reads a file and computes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Time of a process for a byte read.
    pub compute_ns_per_byte: Parameter,
}
