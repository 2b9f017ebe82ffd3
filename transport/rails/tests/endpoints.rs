//! Endpoints of one process talk to each other over loopback.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use common::pair::Pair;
use common::{PATIENCE, close_all, injected, loss, message, open, pattern, recorded, recv, settings};
use fishplate_engine::{Completion, Context, Operation, SendRequest, VcId};
use fishplate_rails::address::Token;
use fishplate_rails::streams::Streams;
use fishplate_rails::{Address, Endpoint, PostError, Settings};

fn send(endpoint: &mut Endpoint, vc: VcId, tag: u64, bytes: &[u8], inject: bool) -> Result<bool, PostError> {
    let message = if inject { injected(vc, tag, bytes) } else { message(vc, tag, bytes) };
    endpoint.send(SendRequest { data: Some(tag + 1), ..message })
}

/// Progresses all endpoints until `done` says so of a completion, which is returned.
fn until(endpoints: &mut [&mut Endpoint], done: impl Fn(usize, &Completion) -> bool) -> Completion {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        for (at, endpoint) in endpoints.iter_mut().enumerate() {
            endpoint.progress();
            while let Some(completion) = endpoint.poll_completion() {
                if done(at, &completion) {
                    return completion;
                }
            }
        }
    }
    panic!("nothing came");
}

fn received(at: usize) -> impl Fn(usize, &Completion) -> bool {
    move |endpoint, completion| endpoint == at && completion.operation == Operation::Recv
}

#[test]
fn messages_of_all_sizes_arrive_over_several_streams() {
    let settings = Settings { streams: Streams::Fixed(3), ..settings() };
    let (mut a, mut b) = (open(&settings), open(&settings));
    let to_b = a.peer(b.address());
    for (tag, len) in [0, 1, 2047, 4096, 16384, 65536, 65537, 1 << 20, 20 << 20].into_iter().enumerate() {
        let bytes = pattern(len, tag as u8);
        let mut buffer = vec![0; len];
        recv(&mut b, tag as u64, &mut buffer, None);
        send(&mut a, to_b, tag as u64, &bytes, len <= 16384 && tag % 2 == 0).unwrap();
        let completion = until(&mut [&mut a, &mut b], received(1));
        assert_eq!((completion.len, completion.data), (len as u64, Some(tag as u64 + 1)));
        assert_eq!(completion.result, Ok(()));
        assert!(buffer == bytes, "{len} bytes");
    }
    close_all([a, b]);
}

#[test]
fn both_may_connect_at_once() {
    let mut pair = Pair::open([settings(), settings()]);
    let (mut at_a, mut at_b) = ([0; 3], [0; 3]);
    let [to_b, to_a] = [0, 1].map(|end| pair.name(end));
    recv(&mut pair.ends[0], 1, &mut at_a, Some(to_b));
    recv(&mut pair.ends[1], 1, &mut at_b, Some(to_a));
    send(&mut pair.ends[0], to_b, 1, b"to-b"[..3].as_ref(), false).unwrap();
    send(&mut pair.ends[1], to_a, 1, b"fro", false).unwrap();
    pair.until_ended(4);
    assert_eq!((&at_a, &at_b), (b"fro", b"to-"));
    pair.close();
}

#[test]
fn an_endpoint_can_send_to_itself() {
    let mut a = open(&settings());
    let address = a.address().clone();
    let to_itself = a.peer(&address);
    let bytes = pattern(100_000, 7);
    send(&mut a, to_itself, 4, &bytes, false).unwrap();
    let mut buffer = vec![0; 100_000];
    recv(&mut a, 4, &mut buffer, None);
    until(&mut [&mut a], received(0));
    assert_eq!(buffer, bytes);
    a.close();
}

#[test]
fn a_burst_is_held_back_only_when_watched_and_until_it_is_released() {
    for watched in [false, true] {
        let (mut a, mut b) = (open(&settings()), open(&settings()));
        if watched {
            a.enable_batching();
        }
        let to_b = a.peer(b.address());
        let mut buffers = vec![[0; 8]; 100];
        for (tag, buffer) in buffers.iter_mut().enumerate() {
            recv(&mut b, tag as u64, buffer, None);
        }
        send(&mut a, to_b, 0, &[7; 8], false).unwrap();
        until(&mut [&mut a, &mut b], received(1));
        // However slow the machine, some sends follow each other closely.
        let mut held = false;
        for tag in 1..99 {
            send(&mut a, to_b, tag, &[7; 8], true).unwrap();
            held |= a.has_deferred_work();
        }
        assert_eq!(held, watched);
        assert_eq!(a.has_deferred_work(), a.held_for_ns().is_some());
        a.flush_held();
        assert!(!a.has_deferred_work());
        for _ in 1..99 {
            until(&mut [&mut b], received(0));
        }
        assert!(buffers[..99].iter().all(|buffer| *buffer == [7; 8]));
        close_all([a, b]);
    }
}

#[test]
fn messages_injected_before_closing_arrive() {
    // With a handshake each as well, for which the receiver may not be ready yet.
    for eager_limit in [None, Some(0)] {
        let settings = Settings { eager_limit, ..settings() };
        let (mut a, mut b) = (open(&settings), open(&settings));
        let to_b = a.peer(b.address());
        let bytes = pattern(9000, 1);
        for tag in 0..200 {
            send(&mut a, to_b, tag, &bytes, true).unwrap();
        }
        let closing = std::thread::spawn(move || a.close());
        for tag in 0..200 {
            let mut buffer = vec![0; 9000];
            recv(&mut b, tag, &mut buffer, None);
            let completion = until(&mut [&mut b], |_, completion| completion.context == Context(tag));
            assert_eq!(completion.result, Ok(()));
            assert_eq!(buffer, bytes);
        }
        b.close();
        closing.join().unwrap();
    }
}

#[test]
fn memory_of_injected_messages_is_the_users_again_at_once() {
    let contents: Vec<Vec<u8>> = (0..16).map(|at| pattern(16384 - 1000 * at, at as u8)).collect();
    let content = |tag: u64| &contents[tag as usize % contents.len()];
    // Sent as they are posted until the peer takes no more; held back as a burst.
    for holds_back in [false, true] {
        let (mut a, mut b) = (open(&settings()), open(&settings()));
        let to_b = a.peer(b.address());
        let mut buffer = vec![0; 16384];
        recv(&mut b, 0, &mut buffer, None);
        send(&mut a, to_b, 0, content(0), true).unwrap();
        until(&mut [&mut a, &mut b], received(1));
        if holds_back {
            a.enable_batching();
        }
        let mut lent = vec![0; 16384];
        for tag in 1..=400 {
            let lent = &mut lent[..content(tag).len()];
            lent.copy_from_slice(content(tag));
            send(&mut a, to_b, tag, lent, true).unwrap();
            lent.fill(0xee);
        }
        for tag in 1..=400 {
            recv(&mut b, tag, &mut buffer, None);
            until(&mut [&mut a, &mut b], |_, completion| completion.context == Context(tag));
            assert!(buffer[..content(tag).len()] == **content(tag), "message {tag}, holds back: {holds_back}");
        }
    }
}

#[test]
fn the_end_of_a_burst_arrives_although_the_sender_never_looks_again() {
    let (mut a, mut b) = (open(&settings()), open(&settings()));
    let to_b = a.peer(b.address());
    let mut buffer = [0; 8];
    recv(&mut b, 1000, &mut buffer, None);
    send(&mut a, to_b, 1000, b"contact!", true).unwrap();
    until(&mut [&mut a, &mut b], received(1));
    for tag in 0..100 {
        send(&mut a, to_b, tag, b"a burst.", true).unwrap();
    }
    for tag in 0..100 {
        recv(&mut b, tag, &mut buffer, None);
        until(&mut [&mut b], |_, completion| completion.context == Context(tag));
    }
}

#[test]
fn a_peer_that_ends_without_goodbye_fails_its_operations_and_no_others() {
    let (mut a, b, mut c) = (open(&settings()), open(&settings()), open(&settings()));
    let (to_b, to_c) = (a.peer(b.address()), a.peer(c.address()));
    let mut b = b;
    let mut buffers = [[0; 8]; 3];
    let [first, second, third] = &mut buffers;
    recv(&mut b, 1, first, None);
    send(&mut a, to_b, 1, b"contact!", false).unwrap();
    until(&mut [&mut a, &mut b], received(1));
    recv(&mut a, 2, second, Some(to_b));
    recv(&mut a, 3, third, Some(to_c));
    drop(b);
    let completion = until(&mut [&mut a], |_, completion| completion.result.is_err());
    let why = loss(&completion);
    assert!(why.contains("rail lo") && why.contains("goodbye"), "{why}");
    assert!(matches!(send(&mut a, to_b, 4, b"x", false), Err(PostError::Failed(_))));
    let to_a = c.peer(a.address());
    send(&mut c, to_a, 3, b"survived", false).unwrap();
    until(&mut [&mut a, &mut c], |at, completion| at == 0 && completion.context == Context(3));
    assert_eq!(&buffers[2], b"survived");
    close_all([a, c]);
}

#[test]
fn a_link_that_alone_had_news_for_long_still_hears_what_comes_and_so_do_others() {
    let (mut a, mut b, mut c) = (open(&settings()), open(&settings()), open(&settings()));
    let (to_b, to_a, c_to_a) = (a.peer(b.address()), b.peer(a.address()), c.peer(a.address()));
    let (mut byte, mut other) = ([0], [0]);
    recv(&mut a, 2, &mut other, None);
    // Far more than it takes until only one link is looked at.
    for _ in 0..2000 {
        recv(&mut b, 1, &mut byte, None);
        send(&mut a, to_b, 1, &[7], true).unwrap();
        until(&mut [&mut a, &mut b], received(1));
        recv(&mut a, 1, &mut byte, None);
        send(&mut b, to_a, 1, &[8], true).unwrap();
        until(&mut [&mut a, &mut b], received(0));
    }
    send(&mut c, c_to_a, 2, &[9], false).unwrap();
    until(&mut [&mut a, &mut b, &mut c], received(0));
    assert_eq!((byte, other), ([8], [9]));
    // More than the socket takes at once.
    let bytes = pattern(20 << 20, 3);
    let mut buffer = vec![0; bytes.len()];
    send(&mut a, to_b, 3, &bytes, false).unwrap();
    recv(&mut b, 3, &mut buffer, None);
    until(&mut [&mut a, &mut b], received(1));
    assert!(buffer == bytes);
    close_all([a, b, c]);
}

fn out_of_reach(address: &Address, settings: &Settings) -> String {
    let mut a = open(settings);
    let vc = a.peer(address);
    send(&mut a, vc, 1, b"hello", false).unwrap();
    let completion = until(&mut [&mut a], |_, completion| completion.result.is_err());
    a.close();
    loss(&completion)
}

/// Runs an endpoint until `stop` is dropped.
fn serve(mut endpoint: Endpoint) -> (Address, std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let address = endpoint.address().clone();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let serving = std::thread::spawn(move || {
        while stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
            endpoint.progress();
            std::thread::yield_now();
        }
        endpoint.close();
    });
    (address, stop, serving)
}

#[test]
fn a_peer_without_the_token_is_reported_and_refused() {
    let (mut address, stop, serving) = serve(open(&settings()));
    address.token = Token([0; 16]);
    let why = out_of_reach(&address, &settings());
    assert!(why.contains("token"), "{why}");
    drop(stop);
    serving.join().unwrap();
}

#[test]
fn a_peer_that_is_not_there_is_out_of_reach_after_the_timeout() {
    let settings = Settings { start_timeout: Duration::from_secs(1), ..settings() };
    let b = open(&settings);
    let address = b.address().clone();
    drop(b);
    let why = out_of_reach(&address, &settings);
    assert!(why.contains("rail lo") && why.contains("refused"), "{why}");
}

#[test]
fn weights_must_be_one_a_rail() {
    let settings = Settings { striping: "weighted:4,1".parse().unwrap(), ..settings() };
    // SAFETY: nothing is posted.
    let error = unsafe { Endpoint::open(&settings) }.err().unwrap().to_string();
    assert_eq!(error, "FISHPLATE_STRIPING: 2 weights for 1 rails; there must be one a rail");
}

#[test]
fn strangers_on_the_port_do_no_harm() {
    let (address, stop, serving) = serve(open(&settings()));
    let port: SocketAddr = (address.rails[0][0], address.port).into();
    let mut garbage = TcpStream::connect(port).unwrap();
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // It is closed without an answer.
    assert!(matches!(garbage.read(&mut [0; 100]), Ok(0) | Err(_)));
    // Another version is answered with ours, in a form that no version may change.
    let mut newer = TcpStream::connect(port).unwrap();
    newer.write_all(b"FiPl\xff\x00\x01\x00").unwrap();
    let mut answer = Vec::new();
    newer.read_to_end(&mut answer).unwrap();
    assert_eq!(answer[..4], *b"FiPl");
    assert_eq!(answer[6..], [5, 1]);
    // One that says nothing does not keep others from connecting.
    let _silent = TcpStream::connect(port).unwrap();
    let mut a = open(&settings());
    let vc = a.peer(&address);
    send(&mut a, vc, 1, b"hello", false).unwrap();
    let completion = until(&mut [&mut a], |_, _| true);
    assert_eq!(completion.result, Ok(()));
    a.close();
    drop(stop);
    serving.join().unwrap();
}

#[test]
fn counters_are_appended_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats");
    let settings = Settings { stats: Some(file.clone()), ..settings() };
    let (mut a, mut b) = (open(&settings), open(&settings));
    let to_b = a.peer(b.address());
    let mut buffer = [0; 5];
    recv(&mut b, 1, &mut buffer, None);
    send(&mut a, to_b, 1, b"12345", true).unwrap();
    until(&mut [&mut a, &mut b], received(1));
    close_all([a, b]);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0]["schema"].as_str(), lines[0]["rail"].as_str()), (Some("fishplate-stats/1"), Some("lo")));
    assert_eq!(["tx_bytes", "rx_bytes"].map(|count| recorded(&file, count, |_| true)), [5, 5]);
}
