//! Traffic for measurements.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Pair;

/// TCP payload at 1500 bytes of IP, 40 of headers, 12 of timestamps, 38 of Ethernet.
pub const PAYLOAD_SHARE: f64 = 1448.0 / 1538.0;
const CHUNK: usize = 256 << 10;

/// Results of a stream's receiver.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    pub bytes: u64,
    pub seconds: f64,
}

impl Received {
    /// Payload in Mbit/s.
    pub fn mbit(&self) -> f64 {
        self.bytes as f64 * 8e-6 / self.seconds
    }
}

/// Sends from a to b over each rail at once for `warm_up` and then `seconds`. Measures the latter; calls `measuring` as
/// it begins.
pub fn streams(
    pair: &mut Pair,
    rails: usize,
    warm_up: f64,
    seconds: f64,
    measuring: impl FnOnce(&mut Pair) -> Result<()>,
) -> Result<Vec<Received>> {
    let mut receivers = Vec::new();
    for rail in 0..rails {
        let address = SocketAddr::from((Pair::address_of_b(rail), 5000));
        let listener = pair.b.run(move || Ok(TcpListener::bind(address)?))?;
        let receiver = pair.b.begin(move || receive(&listener, warm_up, seconds));
        let _sender = pair.a.begin(move || send(address));
        receivers.push(receiver);
    }
    std::thread::sleep(Duration::from_secs_f64(warm_up));
    measuring(pair)?;
    receivers.into_iter().map(|receiver| receiver.wait()).collect()
}

fn send(address: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    let chunk = vec![1; CHUNK];
    while stream.write_all(&chunk).is_ok() {}
    Ok(())
}

fn receive(listener: &TcpListener, warm_up: f64, seconds: f64) -> Result<Received> {
    let (mut stream, _) = listener.accept()?;
    let mut chunk = vec![0; CHUNK];
    read_for(&mut stream, &mut chunk, Duration::from_secs_f64(warm_up))?;
    read_for(&mut stream, &mut chunk, Duration::from_secs_f64(seconds))
}

fn read_for(stream: &mut TcpStream, chunk: &mut [u8], time: Duration) -> Result<Received> {
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < time {
        let read = stream.read(chunk)?;
        ensure!(read > 0, "the sender is gone");
        bytes += read as u64;
    }
    Ok(Received { bytes, seconds: start.elapsed().as_secs_f64() })
}

/// Round trips in nanoseconds, sorted, of `count` small datagrams from a to b and back, one after the other.
pub fn round_trips(pair: &Pair, address: SocketAddr, count: usize, pause: Duration) -> Result<Vec<u64>> {
    let echo = pair.b.run(move || Ok(UdpSocket::bind(address)?))?;
    let done = pair.b.begin(move || reflect(&echo, count));
    let times = pair.a.run(move || {
        let local: SocketAddr = if address.is_ipv4() { "0.0.0.0:0".parse()? } else { "[::]:0".parse()? };
        let socket = UdpSocket::bind(local)?;
        socket.connect(address)?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut times = Vec::new();
        for number in 0..count as u32 {
            let start = Instant::now();
            socket.send(&number.to_be_bytes())?;
            let mut answer = [0; 4];
            socket.recv(&mut answer)?;
            times.push(start.elapsed().as_nanos() as u64);
            std::thread::sleep(pause);
        }
        times.sort_unstable();
        Ok(times)
    })?;
    done.wait()?;
    Ok(times)
}

fn reflect(socket: &UdpSocket, count: usize) -> Result<()> {
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut packet = [0; 64];
    for _ in 0..count {
        let (length, from) = socket.recv_from(&mut packet)?;
        socket.send_to(&packet[..length], from)?;
    }
    Ok(())
}

/// Sends `count` datagrams of `bytes`, `pause` apart; returns how many arrived within `patience` of the last.
pub fn datagrams(pair: &Pair, count: usize, bytes: usize, pause: Duration, patience: Duration) -> Result<usize> {
    let address = SocketAddr::from((Pair::address_of_b(0), 5001));
    let receiver = pair.b.run(move || Ok(UdpSocket::bind(address)?))?;
    let arrived = pair.b.begin(move || {
        receiver.set_read_timeout(Some(patience))?;
        let mut packet = vec![0; 65_536];
        let mut arrived = 0;
        loop {
            match receiver.recv(&mut packet) {
                Ok(_) => arrived += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(arrived),
                Err(error) => return Err(error.into()),
            }
        }
    });
    pair.a.run(move || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        for _ in 0..count {
            socket.send_to(&vec![0; bytes], address)?;
            std::thread::sleep(pause);
        }
        Ok(())
    })?;
    arrived.wait()
}

/// Sends zero bytes over a stream from a to b; returns the number of bits that are set on arrival.
pub fn changed_bits(pair: &Pair, bytes: usize) -> Result<u64> {
    let address = SocketAddr::from((Pair::address_of_b(0), 5002));
    let listener = pair.b.run(move || Ok(TcpListener::bind(address)?))?;
    let changed = pair.b.begin(move || {
        let (mut stream, _) = listener.accept()?;
        let (mut chunk, mut set, mut left) = (vec![0; CHUNK], 0, bytes);
        while left > 0 {
            let read = stream.read(&mut chunk)?;
            ensure!(read > 0, "the sender is gone");
            set += chunk[..read].iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            left -= read;
        }
        Ok(set)
    });
    pair.a.run(move || Ok(TcpStream::connect(address)?.write_all(&vec![0; bytes])?))?;
    changed.wait()
}
