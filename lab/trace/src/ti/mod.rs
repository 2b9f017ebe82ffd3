//! Time-independent traces of SimGrid (its version 3.32), as `smpirun -trace-ti` writes and `smpirun -replay` reads them: a
//! line for each action, `RANK ACTION ARGUMENTS`; computation is in floating-point operations.
//!
//! - [`read`](mod@read): a [`Trace`](crate::Trace) from them;
//! - [`write`](mod@write): and the other way.
//!
//! Their collective operations are of all ranks, so there is one communicator. Messages of further communicators, and
//! synchronous sends, are distinguished by their tags.

mod messages;
pub mod read;
pub mod write;

/// Sizes in bytes of the datatypes, by their numbers in traces: double, int, char, short, long, float, byte, long long,
/// signed and unsigned char, unsigned short, int, long and long long.
const TYPE_BYTES: [u64; 14] = [8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8];

/// An error in a trace, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct TiError {
    /// The file.
    pub file: String,
    /// Line of the file, counted from 1.
    pub line: usize,
    /// The reason.
    pub what: String,
}

/// Whether a text is a trace: its first line is `RANK init`.
pub fn is_trace(text: &str) -> bool {
    let Some(first) = text.lines().map(str::trim).find(|line| !is_left_out(line)) else { return false };
    let words: Vec<&str> = first.split_whitespace().collect();
    matches!(words[..], [rank, "init", ..] if rank.parse::<u32>().is_ok())
}

/// Whether a line is empty or a comment.
fn is_left_out(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Completed, Mode, Operation, Receive, Send};
    use crate::rank_file::Header;
    use crate::read::{RankTrace, Step, Trace};

    const TEXT: &str = "# two ranks\n0 init\n1 init\n0 compute 1e6\n0 isend 1 7 100 1\n0 irecv 1 8 16\n0 waitall\n\
        1 recv 0 7 100 1\n1 sleep 0.001\n1 send 0 8 16\n0 allreduce 4 2000 0\n1 allreduce 4 0 0\n0 barrier\n1 barrier\n\
        0 alltoallv 12 4 8 12 4 8\n1 alltoallv 24 8 16 24 8 16\n0 finalize\n1 finalize\n";

    fn read(text: &str) -> Result<Trace, TiError> {
        read::traces(&[("app.ti".to_string(), text.to_string())], Some(1e9))
    }

    #[test]
    fn a_trace_is_read_and_written() {
        assert!(is_trace(TEXT) && !is_trace("num_ranks 2") && !is_trace("0 compute 5"));
        let trace = read(TEXT).unwrap();
        assert_eq!(trace.ranks.len(), 2);
        let computed: Vec<u64> = trace.ranks[0].steps.iter().map(|step| step.processor_ns).collect();
        assert_eq!(computed, [0, 1_000_000, 0, 0, 0, 2000, 0, 0]);
        assert_eq!(trace.ranks[1].steps[2].idle_ns, 1_000_000);
        let written = write::ranks(&trace, true).unwrap();
        let wanted = "0 init\n0 compute 1000000\n0 isend 1 7 400\n0 irecv 1 8 16\n0 waitall\n0 allreduce 32 0\n0 compute 2000\n\
            0 barrier\n0 alltoallv 12 4 8 12 4 8\n0 finalize\n";
        assert_eq!(written[0], wanted);
        // Reading the written trace yields an equal one.
        let again = read::traces(&[("0".into(), written[0].clone()), ("1".into(), written[1].clone())], Some(1e9));
        assert_eq!(again.unwrap().ranks[0], trace.ranks[0]);
    }

    /// Two ranks that have a world and a copy of it.
    fn two(of: impl Fn(u32) -> Vec<Operation>) -> Trace {
        let rank = |number: u32| {
            let known = |(number, context)| Operation::Communicator { number, context, members: vec![0, 1] };
            let operations: Vec<Operation> =
                [(0, 5), (1, 3)].map(known).into_iter().chain(of(number)).chain([Operation::End]).collect();
            let step = |operation| Step { operation, processor_ns: 0, idle_ns: 0 };
            let steps = (0..operations.len() as u32).map(step).collect();
            RankTrace { header: Header::synthetic(number, 2), operations, steps, is_whole: true }
        };
        Trace { ranks: vec![rank(0), rank(1)] }
    }

    fn send((communicator, to, tag): (u32, u32, i32), bytes: u64, mode: Mode, request: Option<u32>) -> Operation {
        Operation::Send(Send { communicator, to, tag, bytes, mode, has_gaps: false, request })
    }

    fn receive((communicator, from, tag): (u32, u32, i32), bytes: u64, request: Option<u32>) -> Operation {
        let (from, tag) = (Some(from), Some(tag));
        Operation::Receive(Receive { communicator, from, tag, bytes, has_gaps: false, request })
    }

    fn wait(requests: &[u32]) -> Operation {
        let one = |request: &u32| Completed { request: *request, source: None, is_cancelled: false };
        Operation::Wait(requests.iter().map(one).collect())
    }

    #[test]
    fn a_synchronous_send_waits_for_a_receiver_that_is_ready() {
        let trace = two(|rank| match rank {
            // The second one of three.
            0 => vec![
                send((0, 1, 7), 10, Mode::Standard, None),
                send((0, 1, 7), 20, Mode::Synchronous, None),
                send((0, 1, 7), 30, Mode::Standard, None),
                send((0, 1, 8), 40, Mode::Synchronous, Some(3)),
                wait(&[3]),
            ],
            _ => vec![
                receive((0, 0, 7), 10, None),
                receive((0, 0, 8), 40, Some(0)),
                receive((0, 0, 7), 20, None),
                receive((0, 0, 7), 30, Some(1)),
                wait(&[1, 0]),
            ],
        });
        let written = write::ranks(&trace, true).unwrap();
        let wanted = "0 init\n0 send 1 0 10\n0 send 1 0 20\n0 recv 1 1 0\n0 send 1 0 30\n0 isend 1 2 40\n0 irecv 1 3 0\n\
            0 waitall\n0 finalize\n";
        assert_eq!(written[0], wanted);
        let wanted = "1 init\n1 recv 0 0 10\n1 send 0 3 0\n1 irecv 0 2 40\n1 send 0 1 0\n1 recv 0 0 20\n1 irecv 0 0 30\n\
            1 waitall\n1 finalize\n";
        assert_eq!(written[1], wanted);
        let files: Vec<_> = written.into_iter().map(|text| ("file".to_string(), text)).collect();
        assert!(read::traces(&files, None).is_ok());
    }

    #[test]
    fn messages_of_two_communicators_have_two_tags() {
        let trace = two(|rank| match rank {
            0 => [1, 0].map(|one| send((one, 1, 7), 10, Mode::Standard, None)).to_vec(),
            _ => [0, 1].map(|one| receive((one, 0, 7), 10, None)).to_vec(),
        });
        let written = write::ranks(&trace, true).unwrap();
        assert_eq!(written[0], "0 init\n0 send 1 0 10\n0 send 1 1 10\n0 finalize\n");
        assert_eq!(written[1], "1 init\n1 recv 0 1 10\n1 recv 0 0 10\n1 finalize\n");
    }

    #[test]
    fn a_buffer_is_waited_for_alone_and_a_freed_request_by_nobody() {
        let flush = |communicator| Operation::FlushCommunicator { communicator };
        let trace = two(|rank| match rank {
            0 => vec![
                flush(1),
                send((1, 1, 1), 10, Mode::Buffered, None),
                send((0, 1, 2), 20, Mode::Buffered, None),
                Operation::Flush,
                send((0, 1, 3), 30, Mode::Standard, Some(0)),
                send((0, 1, 4), 40, Mode::Standard, Some(0)),
                wait(&[0]),
                flush(1),
            ],
            _ => vec![],
        });
        let wanted = "0 init\n0 isend 1 0 10\n0 isend 1 1 20\n0 wait 0 1 1\n0 isend 1 2 30\n0 isend 1 3 40\n0 wait 0 1 3\n\
            0 wait 0 1 0\n0 finalize\n";
        assert_eq!(write::ranks(&trace, true).unwrap()[0], wanted);
    }

    #[test]
    fn errors_name_their_line() {
        let says = |line: &str| read(&format!("0 init\n1 init\n{line}\n")).unwrap_err().to_string();
        assert_eq!(says("0 dance"), "app.ti, line 3: there is no action \"dance\"");
        assert_eq!(says("x send 1 0 8"), "app.ti, line 3: \"x\" is no rank");
        assert_eq!(says("0 send 1 0"), "app.ti, line 3: send RANK TAG SIZE [TYPE]");
        assert_eq!(says("0 send 2 0 8"), "app.ti, line 3: there is no rank 2: the traces have 2");
        assert_eq!(says("0 send 1 0 -8"), "app.ti, line 3: \"-8\" is no size");
        assert_eq!(says("0 send 1 0 8 77"), "app.ti, line 3: \"77\" is no number of a datatype (0 to 13)");
        assert_eq!(says("0 wait 1 0 5"), "app.ti, line 3: rank 0 has no message from 1 to 0 with tag 5 to wait for");
        assert_eq!(
            says("0 alltoallv 1 2"),
            "app.ti, line 3: alltoallv SIZE SIZE... SIZE SIZE... [TYPE TYPE], for 2 ranks"
        );
        assert_eq!(says("0 compute nan"), "app.ti, line 3: \"nan\" is no size");
        assert_eq!(says("3 init"), "app.ti, line 3: rank 2 is missing");
        let slow = read::traces(&[("a".into(), "0 init\n0 compute 5\n".into())], None).unwrap_err().to_string();
        assert_eq!(slow, "a, line 2: computation is in flops: say how many a processor does in a second (--flops)");
    }
}
