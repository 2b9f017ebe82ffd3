//! Files of ranks: written, cut short, mixed up, and read.

use std::fs::{self, File};
use std::path::Path;

use fishplate_host::HostId;
use fishplate_trace::rank_file::Header;
use fishplate_trace::read::{self, ReadError};
use fishplate_trace::write::{OwnTail, Writer};
use fishplate_trace::{Completed, Mode, Operation, Receive, Send, Trace};

fn header(rank: u32, ranks: u32) -> Header {
    let (host, program) = ("node0".into(), "/bin/app".into());
    Header { world: 7, host, program, processors: 2, overhead_ns: 80, ..Header::synthetic(rank, ranks) }
}

fn send(bytes: u64) -> Operation {
    Operation::Send(Send {
        communicator: 0,
        to: 1,
        tag: 3,
        bytes,
        mode: Mode::Standard,
        has_gaps: false,
        request: None,
    })
}

/// Writes `calls` calls of `kinds` kinds; finishes the file, or not.
fn write(folder: &Path, rank: u32, ranks: u32, calls: u64, kinds: u64, ends: bool) {
    let tail = OwnTail::new();
    let file = File::create(folder.join(format!("{rank}.trace"))).unwrap();
    let mut writer = Writer::begin(file, &tail, &header(rank, ranks)).unwrap();
    for call in 0..calls {
        writer.push(&send(call * 7919 % kinds), [1000 + call % 13, 0]).unwrap();
    }
    if ends {
        writer.finish().unwrap();
    } else {
        fs::write(folder.join(format!("{rank}.tail")), tail.to_bytes()).unwrap();
    }
}

fn check(trace: &Trace, calls: u64, kinds: u64) {
    for rank in &trace.ranks {
        assert_eq!(rank.steps.len() as u64, calls);
        for (call, step) in rank.steps.iter().enumerate() {
            assert_eq!(rank.operations[step.operation as usize], send(call as u64 * 7919 % kinds), "call {call}");
        }
        let time: u64 = rank.steps.iter().map(|step| step.processor_ns).sum();
        assert!(time.abs_diff(calls * 1000 + calls * 6) < 1000 + calls / 50, "{time}");
    }
}

#[test]
fn written_traces_are_read() {
    for (calls, kinds) in [(0, 1), (10, 3), (200_000, 5), (300_000, 300_000)] {
        let folder = tempfile::tempdir().unwrap();
        (0..2).for_each(|rank| write(folder.path(), rank, 2, calls, kinds, true));
        let trace = read::folder(folder.path()).unwrap();
        assert!(trace.ranks.iter().all(|rank| rank.is_whole));
        check(&trace, calls, kinds);
    }
}

#[test]
fn a_loop_takes_less_than_two_bytes_a_call() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 0, 1, 200_000, 50, true);
    let bytes = fs::metadata(folder.path().join("0.trace")).unwrap().len();
    assert!(bytes < 2 * 200_000, "{bytes}");
}

#[test]
fn nothing_is_lost_when_a_rank_is_killed() {
    for (calls, kinds) in [(1, 1), (10, 3), (150_000, 5), (70_000, 70_000)] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0, 1, calls, kinds, false);
        let trace = read::folder(folder.path()).unwrap();
        assert!(!trace.ranks[0].is_whole);
        check(&trace, calls, kinds);
    }
}

#[test]
fn a_file_that_is_cut_short_is_read_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 0, 1, 200_000, 5, true);
    let path = folder.path().join("0.trace");
    let bytes = fs::read(&path).unwrap();
    for length in [8, 20, 100, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        match read::folder(folder.path()) {
            Ok(trace) => assert!(!trace.ranks[0].is_whole && trace.ranks[0].steps.len() <= 200_000),
            Err(error) => assert!(length < 100 && matches!(error, ReadError::Damaged(_)), "{length}: {error}"),
        }
    }
    for at in (0..bytes.len()).step_by(97) {
        let mut other = bytes.clone();
        other[at] ^= 0x55;
        fs::write(&path, &other).unwrap();
        // Whatever comes of it.
        drop(read::folder(folder.path()));
    }
}

#[test]
fn files_that_are_no_trace_of_a_program_are_refused() {
    let says = |prepare: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let error = read::folder(folder.path()).unwrap_err().to_string();
        error.replace(&folder.path().display().to_string(), "DIR")
    };
    assert_eq!(
        says(&|_| {}),
        "DIR: there is no file of a rank (NAME.trace); `fishplate profile --trace DIR` writes them"
    );
    assert_eq!(
        says(&|folder| fs::write(folder.join("a.trace"), "hello, world").unwrap()),
        "DIR/a.trace: this is no trace"
    );
    let version = says(&|folder| fs::write(folder.join("a.trace"), b"FPTRACE\x09...").unwrap());
    assert!(version.starts_with("DIR/a.trace: the trace is of version 9 of the format, and this program reads 2"));
    assert_eq!(says(&|folder| write(folder, 1, 4, 1, 1, true)), "DIR: of 4 ranks, 3 left no trace: 0, 2, 3");
    let several = says(&|folder| {
        write(folder, 0, 2, 1, 1, true);
        write(folder, 1, 3, 1, 1, true);
    });
    assert_eq!(
        several,
        "DIR: there are traces of a program of 2 ranks and of one of 3: keep each run in a folder of its own"
    );
    let twice = says(&|folder| {
        write(folder, 0, 2, 1, 1, true);
        fs::copy(folder.join("0.trace"), folder.join("again.trace")).unwrap();
    });
    assert_eq!(twice, "DIR: two traces are of rank 0, of different runs: keep each run in a folder of its own");
    let worlds = says(&|folder| {
        write(folder, 0, 2, 1, 1, true);
        let other = Header { world: 8, ..header(1, 2) };
        let file = File::create(folder.join("1.trace")).unwrap();
        Writer::begin(file, OwnTail::new(), &other).unwrap().finish().unwrap();
    });
    assert!(
        worlds.starts_with("DIR: there are traces of several runs, which the launcher has named apart"),
        "{worlds}"
    );
    let gone = read::folder(Path::new("/no/such")).unwrap_err().to_string();
    assert_eq!(gone, "/no/such: No such file or directory (os error 2)");
}

#[test]
fn headers_of_before_end_without_host_and_processors() {
    let with = |host_id: Option<HostId>| Header { host_id, machine: "boot".into(), ..header(0, 1) };
    let known = with(HostId::of_number(7));
    let bytes = postcard::to_stdvec(&known).unwrap();
    assert_eq!(Header::decode(&bytes).unwrap(), known);
    assert_eq!(known.host(), HostId::of_number(7).unwrap());
    let before = postcard::to_stdvec(&with(None)).unwrap();
    let (before, end) = before.split_at(before.len() - 2);
    assert_eq!((end, Header::decode(before).unwrap()), (&[0, 0][..], with(None)));
    let other_name = Header { host: "node1".into(), ..with(None) };
    let other_machine = Header { machine: "other".into(), ..with(None) };
    assert!(with(None).host() != other_name.host() && with(None).host() != other_machine.host());
    assert_eq!(Header::decode(&before[..4]), None);
}

#[test]
fn receives_from_any_rank_have_the_source_they_got() {
    let folder = tempfile::tempdir().unwrap();
    let receive = |source: Option<(u32, i32)>| {
        Operation::Receive(Receive {
            communicator: 0,
            from: source.map(|(from, _)| from),
            tag: source.map(|(_, tag)| tag),
            bytes: 8,
            has_gaps: false,
            request: Some(2),
        })
    };
    let wait = |source| Operation::Wait(vec![Completed { request: 2, source: Some(source), is_cancelled: false }]);
    let file = File::create(folder.path().join("0.trace")).unwrap();
    let mut writer = Writer::begin(file, OwnTail::new(), &header(0, 1)).unwrap();
    for operation in [receive(None), wait((1, 5)), receive(None), wait((3, 6)), receive(None)] {
        writer.push(&operation, [0, 0]).unwrap();
    }
    writer.finish().unwrap();
    let rank = read::folder(folder.path()).unwrap().ranks.remove(0);
    let done: Vec<&Operation> = rank.steps.iter().map(|step| &rank.operations[step.operation as usize]).collect();
    assert_eq!([done[0], done[2], done[4]], [&receive(Some((1, 5))), &receive(Some((3, 6))), &receive(None)]);
}
