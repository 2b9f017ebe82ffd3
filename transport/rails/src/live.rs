//! Live diagnostics of a running process for `fishplate top`: a small file that only its user can read. See `docs/guide/top.md`.
//!
//! The file is in memory (`/dev/shm`), is locked while its process runs, and removed at its end. A file without a lock was
//! left by a killed process; the next process that makes one, or looks for all, removes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::iter::once;
use std::net::IpAddr;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fishplate_guest::printable;
use fishplate_host::{Host, HostId};
use serde::{Deserialize, Serialize};

/// Name and version of the page's layout.
pub const SCHEMA: &str = "fishplate-live/1";
/// Prefix of the files' names.
const PREFIX: &str = "fishplate-live-";
/// The folder of the files: the first of these that exists. /dev/shm comes first, as it is not on a disk that may be slow.
const FOLDERS: [&str; 2] = ["dev/shm", "tmp"];
/// Length of a file in bytes: as many rails as there may be, with the longest names, shared memory, and room for more fields.
const PAGE_LEN: usize = 24 << 10;
/// A file that was not written for this time may have been left by a killed process.
const ABANDONED_AFTER: Duration = Duration::from_secs(10);
/// Longest name of a host, a program, a rail or a peer that is shown, in characters: other users write their pages themselves.
const MAX_NAME_LEN: usize = 128;
/// Reads of a page that changes under its reader, at most.
const MAX_READS: usize = 5;

/// The page of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of its host.
    pub host: String,
    /// Identity of its host; `None` in pages of older versions.
    #[serde(default)]
    pub host_id: Option<HostId>,
    /// Its number, in its own namespace.
    pub pid: u32,
    /// Its rank in the job, where the launcher says.
    pub rank: Option<u32>,
    /// The name of its program.
    pub program: String,
    /// Seconds from its start to this page.
    pub seconds: f64,
    /// Peers that it is connected to.
    pub peers: u32,
    /// The peer that has been silent longest while it waits.
    #[serde(default)]
    pub waits: Option<Wait>,
    /// Its rails.
    pub rails: Vec<Rail>,
}

impl Page {
    /// The identity of its host, made of the name where the page has none.
    pub fn host_id(&self) -> HostId {
        self.host_id.unwrap_or_else(|| Host::named(&self.host).id())
    }

    /// Replaces control characters, which a terminal would obey.
    fn printable(mut self) -> Page {
        let names = self.rails.iter_mut().map(|rail| &mut rail.name);
        let waits = self.waits.iter_mut().map(|wait| &mut wait.peer);
        for text in [&mut self.host, &mut self.program].into_iter().chain(names).chain(waits) {
            let shown = printable(text).replace(['\n', '\t'], "?");
            *text = shown.chars().take(MAX_NAME_LEN).collect();
        }
        self
    }
}

/// A wait of a process for a silent peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Name of the peer.
    pub peer: String,
    /// For how many seconds.
    pub seconds: f64,
}

/// One rail of a process. Counts are since its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rail {
    /// Its interface.
    pub name: String,
    /// Its address; shared memory has none.
    pub address: Option<IpAddr>,
    /// Its state.
    pub state: State,
    /// Connections over it.
    pub links: u32,
    /// Greatest number of connections to one peer.
    #[serde(default)]
    pub streams: u32,
    /// Bytes per second of one connection, where several get clearly more.
    #[serde(default)]
    pub flow_rate: Option<u64>,
    /// Bytes per second that its port has sent for all processes while messages waited.
    #[serde(default)]
    pub port_rate: Option<u64>,
    /// Bytes of messages sent.
    pub tx_bytes: u64,
    /// Bytes of messages received.
    pub rx_bytes: u64,
    /// Messages, and pieces of them, sent.
    pub tx_messages: u64,
    /// Messages, and pieces of them, received.
    pub rx_messages: u64,
    /// Smoothed round trip time of the slowest connection, in microseconds, as the kernel measures it.
    pub rtt_us: Option<u64>,
    /// TCP segments that were sent again.
    pub retransmitted_segments: u64,
    /// Frames that came with a wrong checksum.
    #[serde(default)]
    pub changed_frames: u64,
}

/// State of a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has connections.
    Up,
    /// Connections over it are being set up.
    Connecting,
    /// All connections have failed.
    Failed,
    /// No connection was needed so far.
    Idle,
    /// All connections have ended.
    Ended,
}

/// The file with a process's own page.
#[derive(Debug)]
pub struct StatusFile {
    file: File,
    path: PathBuf,
    owner: u32,
}

impl StatusFile {
    /// Creates the file; `name` is a random number.
    pub fn open(name: u64) -> io::Result<StatusFile> {
        let mut folders = FOLDERS.iter().map(|folder| Path::new("/").join(folder));
        let Some(folder) = folders.find(|folder| folder.is_dir()) else { return Err(io::ErrorKind::NotFound.into()) };
        remove_abandoned(&folder);
        let path = folder.join(format!("{PREFIX}{name:016x}"));
        let unlocked = folder.join(format!("fishplate-new-{name:016x}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unlocked)?;
        let ready = file.lock().and_then(|()| fs::rename(&unlocked, &path));
        if let Err(error) = ready {
            let _ = fs::remove_file(&unlocked);
            return Err(error);
        }
        Ok(StatusFile { file, path, owner: std::process::id() })
    }

    /// Writes `page`.
    pub fn write(&self, page: &Page) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(page)?;
        if bytes.len() > PAGE_LEN {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        bytes.resize(PAGE_LEN, b' ');
        self.file.write_all_at(&bytes, 0)
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        // A forked child does not remove the file.
        if std::process::id() == self.owner {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The pages of all processes that this user may see, including those in other namespaces, with the names of their files. Removes
/// files of killed processes.
pub fn pages() -> Vec<(String, Page)> {
    let places = once("/".into()).chain(other_roots());
    let folders = places.flat_map(|root| FOLDERS.map(|folder| root.join(folder)));
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    // Several namespaces may have the same folder.
    let ours: BTreeMap<String, PathBuf> = named.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    let mut pages: Vec<(String, Page)> =
        ours.into_iter().filter_map(|(name, path)| Some((name, page(&path)?))).collect();
    pages.sort_by_cached_key(|(_, page)| (page.rank, page.host.clone(), page.host_id(), page.pid));
    pages
}

/// Removes files of killed processes in a folder. Skips files that were written recently, so that a thousand starting ranks need not
/// open each other's.
fn remove_abandoned(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|data| data.modified()).ok()?;
        written.elapsed().ok().filter(|age| *age >= ABANDONED_AFTER)
    };
    let pages = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    pages.filter(|entry| is_old(entry).is_some()).for_each(|entry| drop(page(&entry.path())));
}

/// The root of each other mount namespace in which this user has a process: testbeds, labs, containers.
fn other_roots() -> impl Iterator<Item = PathBuf> {
    let mut known: BTreeSet<PathBuf> = fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    processes
        .filter(move |process| fs::read_link(process.join("ns/mnt")).is_ok_and(|mounts| known.insert(mounts)))
        .map(|process| process.join("root"))
}

/// The page in a file. `None` if its process has ended, if it is no page, or if it belongs to another user, who may write anything
/// there. Root sees the processes of all users.
fn page(path: &Path) -> Option<Page> {
    let user = rustix::process::geteuid();
    if !user.is_root() && fs::symlink_metadata(path).ok()?.uid() != user.as_raw() {
        return None;
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    if file.try_lock_shared().is_ok() {
        let _ = fs::remove_file(path);
        return None;
    }
    let mut before = Vec::new();
    for _ in 0..MAX_READS {
        let mut bytes = vec![0; PAGE_LEN];
        let len = file.read_at(&mut bytes, 0).ok()?;
        bytes.truncate(len);
        if bytes == before {
            let page: Page = serde_json::from_slice(&bytes).ok()?;
            return (page.schema == SCHEMA).then(|| page.printable());
        }
        before = bytes;
    }
    None
}

/// Name of this process in `ps`.
pub fn program() -> String {
    let mut name = String::new();
    let _ = File::open("/proc/self/comm").and_then(|mut file| file.read_to_string(&mut name));
    name.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::MAX_RAILS;
    use crate::process;
    use crate::rail::MAX_RAIL_NAME_LEN;

    fn shown(pid: u32) -> Page {
        let (schema, host, program) = (SCHEMA.to_string(), "here".into(), "x".into());
        let rail = Rail {
            name: "n".repeat(MAX_RAIL_NAME_LEN),
            address: "fd00:1111:2222:3333:4444:5555:6666:7777".parse().ok(),
            state: State::Connecting,
            links: u32::MAX,
            streams: u32::MAX,
            flow_rate: Some(u64::MAX),
            port_rate: Some(u64::MAX),
            tx_bytes: u64::MAX,
            rx_bytes: u64::MAX,
            tx_messages: u64::MAX,
            rx_messages: u64::MAX,
            rtt_us: Some(u64::MAX),
            retransmitted_segments: u64::MAX,
            changed_frames: u64::MAX,
        };
        Page {
            schema,
            host,
            host_id: Some(process::host_id()),
            pid,
            rank: None,
            program,
            seconds: 0.1,
            peers: 3,
            waits: None,
            rails: vec![rail; MAX_RAILS + 1],
        }
    }

    fn find(pid: u32) -> Option<Page> {
        pages().into_iter().map(|(_, page)| page).find(|page| page.pid == pid)
    }

    #[test]
    fn a_page_is_seen_while_its_process_lives_and_what_a_killed_one_leaves_is_removed() {
        use std::os::unix::fs::PermissionsExt;
        let pid = std::process::id();
        let name = u64::from(pid) << 32 | 0x7e57;
        let status_file = StatusFile::open(name).unwrap();
        status_file.write(&shown(pid)).unwrap();
        assert_eq!(find(pid), Some(shown(pid)), "the largest page has room");
        assert_eq!(fs::metadata(&status_file.path).unwrap().permissions().mode() & 0o777, 0o600);
        let path = status_file.path.clone();
        let StatusFile { file, .. } = &status_file;
        // What the kernel does when a process is killed.
        file.unlock().unwrap();
        assert_eq!(find(pid), None);
        assert!(!path.exists());
        let again = StatusFile::open(name).unwrap();
        assert!(path.exists());
        drop(again);
        assert!(!path.exists());
    }

    #[test]
    fn control_characters_are_not_shown() {
        let mut page = shown(1);
        (page.host, page.program) = ("a\u{1b}[2J".into(), "b\r\nc\u{9b}31m".into());
        page.rails.truncate(1);
        page.rails[0].name = "\u{7}r0".into();
        page.waits = Some(Wait { peer: "\u{1b}]0;x".into(), seconds: 1.0 });
        page.rails.push(Rail { name: "n".repeat(20_000), ..page.rails[0].clone() });
        let page = page.printable();
        assert_eq!(page.rails[1].name.len(), MAX_NAME_LEN);
        let texts = [&page.host, &page.program, &page.rails[0].name, &page.waits.unwrap().peer];
        assert_eq!(texts, ["a?[2J", "b??c?31m", "?r0", "?]0;x"]);
    }

    #[test]
    fn a_new_page_takes_the_place_of_those_that_killed_processes_have_left_long_ago() {
        let name = u64::from(std::process::id()) << 32 | 0xab0;
        let [left, alive] = [name, name + 1].map(|name| StatusFile::open(name).unwrap());
        let long_ago = std::time::SystemTime::now() - 2 * ABANDONED_AFTER;
        [&left, &alive].iter().for_each(|page| page.file.set_modified(long_ago).unwrap());
        left.file.unlock().unwrap();
        let new = StatusFile::open(name + 2).unwrap();
        assert!(!left.path.exists() && alive.path.exists() && new.path.exists());
    }
}
