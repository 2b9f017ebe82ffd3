//! Plain TCP streams: what the rails themselves can carry.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

/// Port in the hosts of a lab, used by no other program.
const PORT: u16 = 5077;
/// Bytes a call.
const CHUNK: usize = 256 << 10;
/// How long the sender may wait for the receiver to listen.
const START_LIMIT: Duration = Duration::from_secs(5);

/// Takes one stream at each address, all at once, and returns their rates in MB/s over the same `time`, after a while
/// in which TCP finds its speed.
pub fn receive(addresses: &[IpAddr], warm_up: Duration, time: Duration) -> Result<Vec<f64>> {
    let listen = |ip: &IpAddr| TcpListener::bind(SocketAddr::new(*ip, PORT));
    let listeners = addresses.iter().map(listen).collect::<Result<Vec<_>, _>>().context("cannot listen")?;
    let streams: Vec<TcpStream> =
        listeners.iter().map(|l| l.accept().map(|(s, _)| s)).collect::<Result<_, _>>().context("cannot accept")?;
    let start = Instant::now() + warm_up;
    std::thread::scope(|scope| {
        let threads: Vec<_> = streams.into_iter().map(|s| scope.spawn(move || count(s, start, start + time))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<f64>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a receiving thread panicked")))
        };
        threads.into_iter().map(join).collect()
    })
}

/// Sends to each address, all at once, until the receiver closes.
pub fn send(addresses: &[IpAddr]) -> Result<()> {
    let streams = addresses.iter().map(|ip| connect(*ip)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for mut stream in streams {
            scope.spawn(move || {
                let chunk = vec![0; CHUNK];
                // The receiver ends it.
                while stream.write_all(&chunk).is_ok() {}
            });
        }
    });
    Ok(())
}

/// MB/s that arrive between two moments.
fn count(mut stream: TcpStream, from: Instant, until: Instant) -> Result<f64> {
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    let mut begun = None;
    loop {
        let length = stream.read(&mut chunk).context("cannot receive")?;
        let now = Instant::now();
        match begun {
            None if now >= from => begun = Some(now),
            Some(_) => bytes += length,
            None => {}
        }
        if let Some(begun) = begun.filter(|_| now >= until) {
            return Ok(bytes as f64 / now.duration_since(begun).as_secs_f64() / 1e6);
        }
        anyhow::ensure!(length > 0, "the sender closed early");
    }
}

fn connect(ip: IpAddr) -> Result<TcpStream> {
    let limit = Instant::now() + START_LIMIT;
    loop {
        match TcpStream::connect(SocketAddr::new(ip, PORT)) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && Instant::now() < limit => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result.with_context(|| format!("cannot connect to {ip}")),
        }
    }
}
