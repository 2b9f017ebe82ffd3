//! Endpoints of a process that may have fewer files open than they have peers.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::{close_all, next, open, recv, send, settings};
use fishplate_engine::VcId;
use fishplate_rails::{Endpoint, Settings};

const ENDPOINTS: usize = 10;
/// Each of the endpoints takes four files or so, and the connections of all to all would take 90.
const FILES: usize = 90;
const LEN: usize = 3000;
/// Tells the process that has the limit from the one that gives it.
const IS_LIMITED: &str = "FISHPLATE_TEST_IS_LIMITED";

/// Runs the named test of this program again with few files.
fn with_few_files(test: &str) {
    let limited = format!("ulimit -S -n {FILES} && ulimit -H -n {FILES} && exec \"$0\" --exact {test} --nocapture");
    let program = std::env::current_exe().unwrap();
    let ran = Command::new("sh").arg("-c").arg(limited).arg(program).env(IS_LIMITED, "1").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("1 passed"), "{out}{err}");
    let told = err.matches("so that idle connections are given back").count();
    assert!((1..=ENDPOINTS).contains(&told), "each is to tell it once: {err}");
}

struct Mesh {
    ends: Vec<Endpoint>,
    /// What each calls the others.
    names: Vec<Vec<VcId>>,
}

impl Mesh {
    fn open() -> Mesh {
        let settings = Settings { top: false, ..settings() };
        let mut ends: Vec<Endpoint> = (0..ENDPOINTS).map(|_| open(&settings)).collect();
        let addresses: Vec<_> = ends.iter().map(|end| end.address().clone()).collect();
        let names = ends.iter_mut().map(|end| addresses.iter().map(|address| end.peer(address)).collect()).collect();
        Mesh { ends, names }
    }

    /// Each pair exchanges a message, which tells who has sent it, one pair after the other. `tag` is used up to the number of pairs.
    fn round(&mut self, tag: &mut u64) {
        for (a, b) in (0..ENDPOINTS).flat_map(|a| (a + 1..ENDPOINTS).map(move |b| (a, b))) {
            self.transfer(a, b, tag);
            self.transfer(b, a, tag);
        }
    }

    fn transfer(&mut self, from: usize, to: usize, tag: &mut u64) {
        *tag += 1;
        let sent: Vec<u8> = (0..LEN).map(|at| (at * 7 + from * 31 + to * 3) as u8 ^ *tag as u8).collect();
        let mut got = vec![0; LEN];
        recv(&mut self.ends[to], *tag, &mut got, Some(self.names[to][from]));
        send(&mut self.ends[from], self.names[from][to], *tag, &sent).unwrap();
        let mut ended = BTreeSet::new();
        while ended.len() < 2 {
            let (at, completion) = next(&mut self.ends, || ());
            assert_eq!(completion.result, Ok(()), "message {tag}");
            assert!(ended.insert(at), "message {tag} has come twice");
        }
        assert!(std::hint::black_box(got) == sent, "message {tag} has arrived changed");
    }
}

#[test]
fn more_peers_than_files_are_reached_one_after_the_other_and_again() {
    if std::env::var_os(IS_LIMITED).is_none() {
        return with_few_files("more_peers_than_files_are_reached_one_after_the_other_and_again");
    }
    let (mut mesh, mut tag) = (Mesh::open(), 0);
    mesh.round(&mut tag);
    mesh.round(&mut tag);
    close_all(mesh.ends);
}
