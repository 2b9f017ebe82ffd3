//! Datagrams beside streams: who talks in turns has them, and what they lose comes over the stream.

mod common;

use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::time::Instant;

use common::pair::Pair;
use common::script::{OFFER, eager, frame, peer, prove, read};
use common::{PATIENCE, loss, message, open, recorded, recv, settings, until};
use fishplate_engine::wire::{Body, Header, SendRef, decode};
use fishplate_engine::{SendRequest, VcId};
use fishplate_rails::{Endpoint, Settings};

/// The peer's secret.
const SECRET: u64 = 0x0123_4567_89ab_cdef;

fn send(endpoint: &mut Endpoint, vc: VcId, tag: u64, bytes: &[u8]) {
    endpoint.send(SendRequest { notify: false, ..message(vc, tag, bytes) }).unwrap();
}

/// Two endpoints answer each other `times` over, with messages of many lengths. The sums of their counters `tx_datagrams`
/// and `repeated_datagrams`.
fn talk(settings: [Settings; 2], times: u64) -> [u64; 2] {
    talk_on(false, settings, times)
}

/// Likewise; `is_crowded`: others wait for the processor.
fn talk_on(is_crowded: bool, settings: [Settings; 2], times: u64) -> [u64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats");
    let mut pair = Pair::open(settings.map(|settings| Settings { stats: Some(stats.clone()), ..settings }));
    pair.ends.iter_mut().for_each(Endpoint::enable_batching);
    pair.ends.iter_mut().for_each(|end| end.set_crowded(is_crowded, false));
    let names = [0, 1].map(|end| pair.name(end));
    let mut kept = Vec::new();
    for turn in 0..times {
        let from = (turn % 2) as usize;
        let len = [0, 1, 64, 1000, 1164, 1165, 3000, 100_000][(turn / 20 % 8) as usize];
        let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + turn) as u8).collect();
        let mut got = vec![0; bytes.len()];
        let [a, b] = &mut pair.ends;
        let (sender, receiver) = if from == 0 { (a, b) } else { (b, a) };
        recv(receiver, turn, &mut got, Some(names[1 - from]));
        send(sender, names[from], turn, &bytes);
        let completion = until(receiver, |receiver| {
            sender.progress();
            receiver.poll_completion()
        });
        assert_eq!((completion.result, completion.len), (Ok(()), len));
        assert!(std::hint::black_box(&got) == &bytes, "message {turn} of {len} bytes has arrived changed");
        kept.push(bytes);
    }
    pair.close();
    ["tx_datagrams", "repeated_datagrams"].map(|count| recorded(&stats, count, |_| true))
}

#[test]
fn alternating_messages_go_by_datagrams() {
    let [sent, repeated] = talk([settings(), settings()], 1600);
    // Most of five lengths of eight, unless this machine takes longer than a datagram is waited for.
    assert!(sent > 0, "{repeated} repeated");
}

/// The kernel acknowledges what comes over a stream, also while its process waits for the processor.
#[test]
fn where_others_wait_for_the_processor_none_is_sent() {
    assert_eq!(talk_on(true, [settings(), settings()], 200), [0, 0]);
}

#[test]
fn a_side_that_does_not_want_datagrams_gets_none() {
    let with = |datagrams| Settings { datagrams, ..settings() };
    assert_eq!(talk([with(true), with(false)], 200), [0, 0]);
    assert_eq!(talk([with(false), with(true)], 200), [0, 0]);
    let encrypted = || Settings { encryption: true, ..settings() };
    assert_eq!(talk([encrypted(), encrypted()], 200), [0, 0]);
}

/// A peer that does as the test says, and the endpoint that it talks to.
struct Scripted {
    endpoint: Endpoint,
    vc: VcId,
    stream: TcpStream,
    socket: UdpSocket,
    /// What came over the stream and was not looked at yet.
    came: Vec<u8>,
    /// Counted frames that came, and that were sent.
    received: u32,
    sent: u32,
    tag: u64,
}

impl Scripted {
    /// It has acknowledged messages one by one until the endpoint has offered datagrams; where, and under which
    /// secret.
    fn begin() -> (Scripted, u16, u64) {
        let mut endpoint = open(&settings());
        endpoint.enable_batching();
        let (stream, _) = prove(&mut endpoint, 1, OFFER);
        let vc = endpoint.peer(&peer());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let (came, received, sent, tag) = (Vec::new(), 0, 0, 0);
        let mut peer = Scripted { endpoint, vc, stream, socket, came, received, sent, tag };
        let mut offered = None;
        while offered.is_none() {
            peer.make_send();
            loop {
                let (header, _) = peer.next_frame();
                match header.body {
                    Body::Datagrams { port, secret, received: false } => offered = Some((port, secret)),
                    body if body.is_counted() => break,
                    _ => {}
                }
            }
            peer.acknowledge();
        }
        peer.take_datagrams();
        assert_eq!(peer.next_datagram(), datagram(SECRET, 0, &[]), "first it shows that they come through");
        let (port, secret) = offered.unwrap();
        (peer, port, secret)
    }

    /// The endpoint sends messages, which are acknowledged one by one, until one leaves as a datagram, which is not. That
    /// datagram, and how many went over the stream before: more than usual where this machine takes long to acknowledge.
    fn send_until_datagram(&mut self) -> (Vec<u8>, u32) {
        let mut over_stream = 0;
        loop {
            let before = self.received;
            let mut bytes = vec![0; 2000];
            self.make_send();
            while self.received == before {
                if let Ok(len) = self.socket.recv(&mut bytes) {
                    bytes.truncate(len);
                    return (bytes, over_stream);
                }
                self.look_for_frame();
            }
            // One that was late has come over the stream as well.
            while self.socket.recv(&mut bytes).is_ok() {}
            over_stream += 1;
            self.acknowledge();
        }
    }

    /// The endpoint sends a message.
    fn make_send(&mut self) {
        self.tag += 1;
        send(&mut self.endpoint, self.vc, self.tag, b"some message");
    }

    /// The next frame of the stream with its bytes.
    fn next_frame(&mut self) -> (Header, Vec<u8>) {
        let start = Instant::now();
        loop {
            if let Some(frame) = self.look_for_frame() {
                return frame;
            }
            assert!(start.elapsed() < PATIENCE, "it does not come");
        }
    }

    /// A frame of the stream with its bytes, if one has come.
    fn look_for_frame(&mut self) -> Option<(Header, Vec<u8>)> {
        self.endpoint.progress();
        self.came.extend(read(&self.stream).expect("it is closed"));
        let (header, len) = decode(&self.came).unwrap()?;
        let len = len + header.body.payload_len() as usize;
        if self.came.len() < len {
            return None;
        }
        self.received += u32::from(header.body.is_counted());
        Some((header, self.came.drain(..len).collect()))
    }

    /// The next datagram.
    fn next_datagram(&mut self) -> Vec<u8> {
        let Scripted { endpoint, socket, .. } = self;
        let mut bytes = vec![0; 2000];
        let len = until(endpoint, |_| socket.recv(&mut bytes).ok());
        bytes.truncate(len);
        bytes
    }

    /// Tells the endpoint where to send datagrams, and that they have come.
    fn take_datagrams(&mut self) {
        let port = self.socket.local_addr().unwrap().port();
        let said = frame(Body::Datagrams { port, secret: SECRET, received: true }, 0);
        self.stream.write_all(&said).unwrap();
    }

    /// Acknowledges what has come, and makes sure that the endpoint knows.
    fn acknowledge(&mut self) {
        self.say(Body::Ping, 0);
        while self.next_frame().0.ack != self.sent {}
    }

    /// Sends a frame over the stream.
    fn say(&mut self, body: Body, payload: usize) {
        self.sent += u32::from(body.is_counted());
        let frame = self.frame(body, payload);
        self.stream.write_all(&frame).unwrap();
    }

    fn frame(&self, body: Body, payload: usize) -> Vec<u8> {
        let mut bytes = frame(body, payload);
        bytes[8..12].copy_from_slice(&self.received.to_le_bytes());
        bytes
    }
}

fn datagram(secret: u64, number: u32, frame: &[u8]) -> Vec<u8> {
    [&secret.to_le_bytes()[..], &number.to_le_bytes(), frame].concat()
}

#[test]
fn a_datagram_that_is_not_acknowledged_comes_over_the_stream() {
    let (mut peer, _, _) = Scripted::begin();
    let (sent, _) = peer.send_until_datagram();
    let number = peer.received;
    let (_, copy) = peer.next_frame();
    assert_eq!(sent, datagram(SECRET, number, &copy));
}

#[test]
fn the_refusal_of_a_write_comes_over_the_stream() {
    let (mut peer, _, _) = Scripted::begin();
    peer.say(Body::Write { write: SendRef(1), key: 2, address: 0, data: None, number: 1, len: 8 }, 8);
    while !matches!(peer.next_frame().0.body, Body::Refused { .. }) {}
    let mut bytes = [0; 100];
    assert!(peer.socket.recv(&mut bytes).is_err(), "nothing else has come");
}

#[test]
fn without_anybody_who_watches_there_are_none() {
    let mut endpoint = open(&settings());
    let (stream, _) = prove(&mut endpoint, 1, OFFER);
    let offer = frame(Body::Datagrams { port: 9, secret: SECRET, received: true }, 0);
    (&stream).write_all(&[offer, frame(Body::Ping, 0)].concat()).unwrap();
    let mut came = Vec::new();
    let (header, _) = until(&mut endpoint, |_| {
        came.extend(read(&stream).expect("it is closed"));
        decode(&came).unwrap()
    });
    assert_eq!((header.body, header.ack), (Body::Ack, 1));
}

#[test]
fn after_a_lost_datagram_it_takes_longer_until_the_next() {
    let (mut peer, _, _) = Scripted::begin();
    peer.send_until_datagram();
    while !peer.next_frame().0.body.is_counted() {}
    peer.acknowledge();
    let (_, over_stream) = peer.send_until_datagram();
    assert!(over_stream >= 12, "{over_stream}; the first came after eight");
}

#[test]
fn the_stream_says_where_it_goes_on() {
    let (mut peer, _, _) = Scripted::begin();
    peer.send_until_datagram();
    let number = peer.received + 1;
    peer.received = number;
    peer.acknowledge();
    // On a machine that takes long for it, the copy has come as well, and the stream is in order.
    let is_copied = std::mem::replace(&mut peer.received, number) > number;
    send(&mut peer.endpoint, peer.vc, 0, &[0; 3000]);
    assert!(is_copied || peer.next_frame().0.body == Body::Resume { number });
    assert!(matches!(peer.next_frame().0.body, Body::Eager { len: 3000, .. }));
}

#[test]
fn a_frame_that_follows_brings_the_copy_along() {
    let (mut peer, _, _) = Scripted::begin();
    let (sent, _) = peer.send_until_datagram();
    peer.make_send();
    let (_, copy) = peer.next_frame();
    assert_eq!(sent[12..], copy);
    assert!(matches!(peer.next_frame().0.body, Body::Eager { .. }));
}

#[test]
fn datagrams_that_overtake_others_and_the_stream_wait() {
    let (mut peer, port, secret) = Scripted::begin();
    let mut buffers = [[0; 4]; 3];
    buffers.iter_mut().for_each(|buffer| recv(&mut peer.endpoint, 5, buffer, Some(peer.vc)));
    let number = peer.sent;
    let frames = [1, 2, 3].map(|len| peer.frame(eager(len - 1, len), len as usize));
    for at in [2, 1] {
        let bytes = datagram(secret, number + at, &frames[at as usize]);
        peer.socket.send_to(&bytes, ("127.0.0.1", port)).unwrap();
    }
    let Scripted { endpoint, stream, .. } = &mut peer;
    // They have come before this is asked for.
    for _ in 0..100 {
        endpoint.progress();
    }
    assert!(endpoint.poll_completion().is_none());
    stream.write_all(&frames[0]).unwrap();
    let mut next = || until(endpoint, Endpoint::poll_completion).len;
    assert_eq!(next(), 1);
    // One waits at a time; the other comes again.
    stream.write_all(&frames[1]).unwrap();
    assert_eq!([next(), next()], [2, 3]);
    let resume = peer.frame(Body::Resume { number: number + 3 }, 0);
    peer.stream.write_all(&resume).unwrap();
    peer.sent += 3;
    peer.acknowledge();
}

#[test]
fn each_frame_is_taken_once_and_only_from_who_knows_the_secret() {
    let (mut peer, port, secret) = Scripted::begin();
    let mut buffers = [[0; 4]; 2];
    buffers.iter_mut().for_each(|buffer| recv(&mut peer.endpoint, 5, buffer, Some(peer.vc)));
    let number = peer.sent;
    let forged = frame(eager(0, 3), 3);
    let (first, second) = (peer.frame(eager(0, 1), 1), peer.frame(eager(1, 2), 2));
    let resume = peer.frame(Body::Resume { number }, 0);
    for (secret, number, frame) in
        [(secret + 1, number, &forged), (secret, number - 1, &forged), (secret, number, &first)]
    {
        peer.socket.send_to(&datagram(secret, number, frame), ("127.0.0.1", port)).unwrap();
    }
    let Scripted { endpoint, stream, .. } = &mut peer;
    let mut next = || until(endpoint, Endpoint::poll_completion).len;
    assert_eq!(next(), 1);
    stream.write_all(&[resume, first, second].concat()).unwrap();
    assert_eq!(next(), 2);
    peer.sent += 2;
    peer.acknowledge();
}

#[test]
fn a_datagram_that_is_not_one_frame_ends_the_peer() {
    for (header, payload) in [(eager(0, 1), 2), (eager(0, 2), 1), (Body::Ack, 0)] {
        let (mut peer, port, secret) = Scripted::begin();
        let mut buffer = [0; 4];
        recv(&mut peer.endpoint, 5, &mut buffer, Some(peer.vc));
        let bytes = datagram(secret, peer.sent, &peer.frame(header, payload));
        peer.socket.send_to(&bytes, ("127.0.0.1", port)).unwrap();
        let told = loss(&until(&mut peer.endpoint, Endpoint::poll_completion));
        assert!(told.contains("the peer broke the protocol: a datagram is not one frame"), "{told}");
    }
}
