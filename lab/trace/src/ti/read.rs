//! Reads the files of all ranks.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{TYPE_BYTES, TiError, is_left_out};
use crate::operation::{Collective, CollectiveKind, Completed, Mode, Operation, Receive, Send, Sizes, Slot};
use crate::rank_file::Header;
use crate::read::{RankTrace, Step, Trace};

/// Number of the communicator of all ranks.
const WORLD: u32 = 0;
const NS_PER_S: f64 = 1e9;

/// Reads files, given as name and text, each of one rank or several. `flops`: floating-point operations per second of a
/// processor.
///
/// # Errors
/// The first error, with file and line.
pub fn traces(files: &[(String, String)], flops: Option<f64>) -> Result<Trace, TiError> {
    let mut lines = Vec::new();
    for (file, text) in files {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !is_left_out(line.trim())) {
            let error = |what: String| TiError { file: file.clone(), line: number + 1, what };
            let words: Vec<&str> = line.split_whitespace().collect();
            let rank: u32 = words[0].parse().map_err(|_| error(format!("\"{}\" is no rank", words[0])))?;
            lines.push((rank, words, file, number + 1));
        }
    }
    let mut ranks: BTreeMap<u32, Rank> = lines.iter().map(|(rank, ..)| (*rank, Rank::default())).collect();
    let count = ranks.len() as u32;
    let error = |(file, line): (&String, usize), what| TiError { file: file.clone(), line, what };
    if let Some(missing) = (0..count).find(|rank| !ranks.contains_key(rank)) {
        // A greater rank exists, and so a line with it.
        let found = lines.iter().find(|(rank, ..)| *rank > missing);
        let at = found.map_or((&files[0].0, 1), |(_, _, file, line)| (*file, *line));
        return Err(error(at, format!("rank {missing} is missing")));
    }
    for (number, words, file, line) in &lines {
        let Some(rank) = ranks.get_mut(number) else { continue };
        let reader = Reader { rank, number: *number, ranks: count, flops };
        reader.action(&words[1..]).map_err(|what| error((file, *line), what))?;
    }
    Ok(Trace { ranks: ranks.into_iter().map(|(number, rank)| rank.finish(number, count)).collect() })
}

/// State of reading the lines of one rank.
#[derive(Default)]
struct Rank {
    operations: Vec<Operation>,
    places: FxHashMap<Operation, u32>,
    steps: Vec<Step>,
    /// Computation and sleep since the last call.
    pending: [f64; 2],
    /// Bytes of an element if no datatype is given.
    element: u64,
    /// Active requests: [sender, receiver, tag], request.
    open: Vec<([i64; 3], Slot)>,
}

impl Rank {
    fn push(&mut self, operation: Operation) {
        let place = *self.places.entry(operation).or_insert_with_key(|operation| {
            self.operations.push(operation.clone());
            self.operations.len() as u32 - 1
        });
        let [processor_ns, idle_ns] = std::mem::take(&mut self.pending).map(|ns| ns.round() as u64);
        self.steps.push(Step { operation: place, processor_ns, idle_ns });
    }

    /// Begins a request, with the lowest free number.
    fn begin(&mut self, message: [i64; 3]) -> Slot {
        let slot = (0..).find(|slot| self.open.iter().all(|(_, used)| used != slot)).unwrap_or_default();
        self.open.push((message, slot));
        slot
    }

    fn wait(&mut self, slots: impl Iterator<Item = Slot>) {
        self.push(Operation::Wait(
            slots.map(|request| Completed { request, source: None, is_cancelled: false }).collect(),
        ));
    }

    fn finish(mut self, rank: u32, ranks: u32) -> RankTrace {
        self.push(Operation::End);
        let host = format!("host{rank}");
        let header = Header { machine: host.clone(), host, ..Header::synthetic(rank, ranks) };
        RankTrace { header, operations: self.operations, steps: self.steps, is_whole: true }
    }
}

/// Collective actions: name, operation, arguments, and how errors describe these. Arguments are sizes of what this rank sends
/// (`s`), receives (`r`) or both (`b`), or of what it exchanges with each rank (`S`, `R`); the sum of such sizes (`+`);
/// computation (`f`). Optional are then the root (`o`) and datatypes (`t`), of two the second for what is received.
const COLLECTIVES: [(&str, CollectiveKind, &str, &str); 15] = {
    use CollectiveKind::*;
    [
        ("barrier", Barrier, "", ""),
        ("bcast", Broadcast, "bot", "SIZE [ROOT [TYPE]]"),
        ("reduce", Reduce, "bfot", "SIZE FLOPS [ROOT [TYPE]]"),
        ("allreduce", Allreduce, "bft", "SIZE FLOPS [TYPE]"),
        ("scan", Scan, "bft", "SIZE FLOPS [TYPE]"),
        ("exscan", Scan, "bft", "SIZE FLOPS [TYPE]"),
        ("alltoall", Alltoall, "srtt", "SENT RECEIVED [TYPE TYPE]"),
        ("allgather", Allgather, "srtt", "SENT RECEIVED [TYPE TYPE]"),
        ("gather", Gather, "srott", "SENT RECEIVED [ROOT [TYPE TYPE]]"),
        ("scatter", Scatter, "srott", "SENT RECEIVED [ROOT [TYPE TYPE]]"),
        ("gatherv", Gather, "sRott", "SIZES... [ROOT [TYPE TYPE]]"),
        ("scatterv", Scatter, "Srott", "SIZES... [ROOT [TYPE TYPE]]"),
        ("allgatherv", Allgather, "sRtt", "SENT SIZE... [TYPE TYPE]"),
        ("reducescatter", ReduceScatter, "Sft", "SIZE... FLOPS [TYPE]"),
        ("alltoallv", Alltoall, "+S+Rtt", "SIZE SIZE... SIZE SIZE... [TYPE TYPE]"),
    ]
};

/// Arguments of a collective action, with their letters in [`COLLECTIVES`]; empty where an optional one is not given.
type Arguments<'a> = Vec<(char, &'a [&'a str])>;

struct Reader<'a> {
    rank: &'a mut Rank,
    number: u32,
    ranks: u32,
    flops: Option<f64>,
}

impl Reader<'_> {
    fn action(mut self, words: &[&str]) -> Result<(), String> {
        let Some((name, arguments)) = words.split_first() else { return Err("a rank, and no action".into()) };
        match *name {
            "init" => {
                // With an argument to `init`, sizes without a datatype are counts of doubles.
                self.rank.element = if arguments.is_empty() { 1 } else { 8 };
                let members = (0..self.ranks).collect();
                self.rank.push(Operation::Communicator { number: WORLD, context: 1, members });
            }
            // These take no time in replays by SimGrid.
            "finalize" | "comm_size" | "comm_split" | "comm_dup" | "location" => {}
            // The result of a test depends on time; a later call waits for the request.
            "test" => {}
            "compute" => {
                let [flops] = *arguments else { return Err("compute FLOPS".into()) };
                self.compute(flops)?;
            }
            "sleep" => {
                let [seconds] = *arguments else { return Err("sleep SECONDS".into()) };
                self.rank.pending[1] += size(seconds)? * NS_PER_S;
            }
            "send" | "isend" | "recv" | "irecv" => self.message(name, arguments)?,
            "wait" => self.wait(arguments)?,
            "waitall" => {
                let open = std::mem::take(&mut self.rank.open);
                self.rank.wait(open.into_iter().map(|(_, slot)| slot));
            }
            _ => self.collective(name, arguments)?,
        }
        Ok(())
    }

    fn compute(&mut self, text: &str) -> Result<(), String> {
        let amount = size(text)?;
        if amount > 0.0 {
            let flops =
                self.flops.ok_or("computation is in flops: say how many a processor does in a second (--flops)")?;
            self.rank.pending[0] += amount / flops * NS_PER_S;
        }
        Ok(())
    }

    fn message(&mut self, name: &str, arguments: &[&str]) -> Result<(), String> {
        let ([peer, tag, count] | [peer, tag, count, _]) = *arguments else {
            return Err(format!("{name} RANK TAG SIZE [TYPE]"));
        };
        let peer = self.peer(peer)?;
        let tag: i32 = tag.parse().map_err(|_| format!("\"{tag}\" is no tag"))?;
        let bytes = self.bytes(count, arguments.get(3))?;
        let (communicator, mode, has_gaps) = (WORLD, Mode::Standard, false);
        let own = i64::from(self.number);
        if name.ends_with("send") {
            let request = (name == "isend").then(|| self.rank.begin([own, peer.into(), tag.into()]));
            let send = Send { communicator, to: peer, tag, bytes, mode, has_gaps, request };
            self.rank.push(Operation::Send(send));
        } else {
            let request = (name == "irecv").then(|| self.rank.begin([peer.into(), own, tag.into()]));
            let receive = Receive { communicator, from: Some(peer), tag: Some(tag), bytes, has_gaps, request };
            self.rank.push(Operation::Receive(receive));
        }
        Ok(())
    }

    fn wait(&mut self, arguments: &[&str]) -> Result<(), String> {
        let [from, to, tag] = *arguments else { return Err("wait FROM TO TAG".into()) };
        let number = |text: &str| text.parse::<i64>().map_err(|_| format!("\"{text}\" is no number"));
        let message = [number(from)?, number(to)?, number(tag)?];
        let Some(place) = self.rank.open.iter().position(|(open, _)| *open == message) else {
            return Err(format!("rank {} has no message from {from} to {to} with tag {tag} to wait for", self.number));
        };
        let (_, slot) = self.rank.open.remove(place);
        self.rank.wait([slot].into_iter());
        Ok(())
    }

    fn collective(&mut self, name: &str, arguments: &[&str]) -> Result<(), String> {
        let known = COLLECTIVES.iter().find(|(known, ..)| *known == name);
        let (_, kind, letters, usage) = known.ok_or_else(|| format!("there is no action \"{name}\""))?;
        let is_by_rank = letters.contains(['S', 'R']);
        let for_ranks = if is_by_rank { format!(", for {} ranks", self.ranks) } else { String::new() };
        let parts = self.parts(letters, arguments).ok_or_else(|| format!("{name} {usage}{for_ranks}"))?;
        let find = |wanted: &str| parts.iter().find(|(letter, _)| wanted.contains(*letter));
        let mut types = parts.iter().filter(|(letter, _)| *letter == 't').map(|(_, given)| given.first());
        let sent_type = types.next().flatten();
        let received_type = types.next().unwrap_or(sent_type);
        let sent = find("sbS").map_or(Ok(Sizes::Each(0)), |part| self.sizes(part, sent_type))?;
        let own = || Ok(Sizes::Each(sent.of(self.number as usize)));
        let received = find("rbR").map_or_else(own, |part| self.sizes(part, received_type))?;
        let root = find("o").map(|(_, root)| root.first().map_or(Ok(0), |root| self.peer(root))).transpose()?;
        let flops = find("f").map(|(_, flops)| flops[0]);
        let (communicator, neighbors, request) = (WORLD, None, None);
        let collective = Collective { kind: *kind, communicator, root, sent, received, neighbors, request };
        self.rank.push(Operation::Collective(collective));
        // In these traces the computation of a reduction is part of the operation; here it follows the operation.
        flops.map_or(Ok(()), |flops| self.compute(flops))
    }

    /// Arguments by their letters; `None` if there are too few or too many. A barrier may have any.
    fn parts<'b>(&self, letters: &str, arguments: &'b [&'b str]) -> Option<Arguments<'b>> {
        let mut rest = arguments;
        let mut parts = Vec::new();
        for letter in letters.chars() {
            let count = if matches!(letter, 'S' | 'R') { self.ranks as usize } else { 1 };
            let is_absent = rest.is_empty() && matches!(letter, 'o' | 't');
            let (given, others) = rest.split_at_checked(if is_absent { 0 } else { count })?;
            parts.push((letter, given));
            rest = others;
        }
        (rest.is_empty() || letters.is_empty()).then_some(parts)
    }

    fn peer(&self, text: &str) -> Result<u32, String> {
        let rank: u32 = text.parse().map_err(|_| format!("\"{text}\" is no rank"))?;
        if rank >= self.ranks {
            return Err(format!("there is no rank {rank}: the traces have {}", self.ranks));
        }
        Ok(rank)
    }

    fn bytes(&self, count: &str, datatype: Option<&&str>) -> Result<u64, String> {
        let element = match datatype {
            None => self.rank.element.max(1),
            Some(text) => {
                let known = text.parse::<usize>().ok().and_then(|number| TYPE_BYTES.get(number));
                *known
                    .ok_or_else(|| format!("\"{text}\" is no number of a datatype (0 to {})", TYPE_BYTES.len() - 1))?
            }
        };
        Ok(size(count)? as u64 * element)
    }

    /// Sizes for each rank, or one for all.
    fn sizes(&self, (letter, counts): &(char, &[&str]), datatype: Option<&&str>) -> Result<Sizes, String> {
        let mut sizes: Vec<u64> = counts.iter().map(|count| self.bytes(count, datatype)).collect::<Result<_, _>>()?;
        Ok(if letter.is_uppercase() { Sizes::Of(sizes) } else { Sizes::Each(sizes.remove(0)) })
    }
}

/// A size or an amount of computation: integer or floating-point number.
fn size(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok().filter(|value: &f64| (0.0..1e18).contains(value));
    value.ok_or_else(|| format!("\"{text}\" is no size"))
}
