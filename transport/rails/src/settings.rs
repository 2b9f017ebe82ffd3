//! The settings of users: one `FISHPLATE_*` environment variable each.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use fishplate_engine::policy::{Multiplexing, Striping};
use fishplate_rails_ofi::wanted::Wanted;
use log::LevelFilter;

use crate::ablation::{self, Ablation, Mechanism};
use crate::discover;
use crate::handshake::Terms;
use crate::ports::Ports;
use crate::secret::{self, Secret};
use crate::socket::may_use_congestion;
use crate::streams::Streams;
use crate::transfer::ThreadLimit;

/// All settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Interfaces to use as rails, in this order, as [`crate::discover::survey`] takes them; empty: the automatic choice.
    pub rails: Vec<String>,
    /// Ports that peers connect to; `None`: any.
    pub ports: Option<Ports>,
    /// TCP connections for each rail and peer.
    pub streams: Streams,
    /// How long messages are cut.
    pub striping: Striping,
    /// How whole messages are spread.
    pub multiplexing: Multiplexing,
    /// Longest message, in bytes, sent without a handshake; `None`: chosen by path and grant.
    pub eager_limit: Option<u64>,
    /// Bytes of unexpected messages that a peer may leave here; `None`: chosen by path and memory.
    pub grant: Option<u64>,
    /// How long a peer that was connected may be out of reach before its operations fail.
    pub timeout: Duration,
    /// How long a peer may be out of reach that was never connected, and how long to wait for this host's own network.
    pub start_timeout: Duration,
    /// TCP congestion control of the rails' sockets; `None`: the system's.
    pub congestion: Option<String>,
    /// Whether connections between endpoints are encrypted.
    pub encryption: bool,
    /// Whether frames have checksums where nothing else detects changes.
    pub checksum: bool,
    /// A secret that all processes of the job share.
    pub secret: Option<Secret>,
    /// Whether short frames to near peers may go as datagrams.
    pub datagrams: bool,
    /// Whether peers of this host are reached by shared memory.
    pub shared_memory: bool,
    /// Progress while the program computes.
    pub progress: Progress,
    /// Number of threads that copy long payloads.
    pub threads: ThreadLimit,
    /// File to which counters are appended at the end.
    pub stats: Option<PathBuf>,
    /// Events from this level on become lines on standard error.
    pub log: LevelFilter,
    /// Whether `fishplate top` can see the process.
    pub top: bool,
    /// Mechanisms that are switched off for measurements.
    pub ablation: Ablation,
}

/// Progress while the program does not call its MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A thread: it sends frames that wait for a full socket, and also reads where a processor is free for it.
    Automatic,
    /// Calls of the program alone; a thread sends only what peers wait for.
    Calls,
    /// A thread makes all progress.
    Thread,
}

/// A documented environment variable.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its allowed values.
    pub allowed: &'static str,
    /// Its default.
    pub default: &'static str,
}

/// All variables, in the order in which documentation shows them.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "FISHPLATE_RAILS",
        meaning: "network interfaces to use as rails, in this order",
        allowed: "interfaces by name, altname, pattern (eth*), address or network (10.0.0.0/24), paths (eth0/10.1.0.5), domains of libfabric's providers (tcp:eth0), separated by commas; with ^ in front: all but these",
        default: "every physical interface with an address, and adapters that libfabric drives",
    },
    Variable {
        name: "FISHPLATE_PORTS",
        meaning: "ports to listen on, for firewalls: each process of a host takes one",
        allowed: Ports::ALLOWED,
        default: "a free port",
    },
    Variable {
        name: "FISHPLATE_STREAMS",
        meaning: "TCP connections for each rail and peer",
        allowed: Streams::ALLOWED,
        default: "auto: one; up to 16 where more connections carry more",
    },
    Variable {
        name: "FISHPLATE_STRIPING",
        meaning: "policy that cuts a long message over the rails",
        allowed: Striping::ALLOWED,
        default: "earliest",
    },
    Variable {
        name: "FISHPLATE_MULTIPLEXING",
        meaning: "policy that spreads whole messages over the rails",
        allowed: Multiplexing::ALLOWED,
        default: "earliest",
    },
    Variable {
        name: "FISHPLATE_EAGER_LIMIT",
        meaning: "longest message sent without a handshake",
        allowed: "bytes, K or M behind the number for 2^10 or 2^20; 0 to 1M",
        default: "by path and grant: messages of up to 64K whole; of longer ones, as much as half of the peer's grant is sent ahead",
    },
    Variable {
        name: "FISHPLATE_GRANT",
        meaning: "memory of this process for unexpected messages of one peer",
        allowed: "bytes, K or M behind the number for 2^10 or 2^20; 64K to 1024M",
        default: "4M; up to 128M for distant peers that use it, and for peers that leave many short messages; 512M for all peers together",
    },
    Variable {
        name: "FISHPLATE_TIMEOUT",
        meaning: "time for which a peer may be unreachable before its operations fail",
        allowed: "seconds, 1 to 86400",
        default: "900; for a peer that has not been reached yet 30, or as long as the process has run",
    },
    Variable {
        name: "FISHPLATE_CONGESTION",
        meaning: "TCP congestion control of the rails",
        allowed: "a name in /proc/sys/net/ipv4/tcp_available_congestion_control that the kernel allows to the user",
        default: "reno at first, then by distance",
    },
    Variable {
        name: "FISHPLATE_ENCRYPTION",
        meaning: "whether traffic over the rails is encrypted; equal for all processes of a job",
        allowed: "on, off",
        default: "off",
    },
    Variable {
        name: "FISHPLATE_CHECKSUM",
        meaning: "whether frames have checksums (CRC32C), without encryption; equal for all processes of a job",
        allowed: "on, off",
        default: "off",
    },
    Variable {
        name: "FISHPLATE_SECRET_FILE",
        meaning: "file with a secret that connections need beside the launcher's; its bytes are equal for all processes of a job",
        allowed: "a path; the file belongs to the user, mode 600, and has 16 to 4096 bytes",
        default: "none: an attacker who reads the launcher's traffic can connect",
    },
    Variable {
        name: "FISHPLATE_DATAGRAMS",
        meaning: "whether short messages to near peers may go over UDP; never with encryption",
        allowed: "on, off",
        default: "on, where UDP comes through",
    },
    Variable {
        name: "FISHPLATE_SHARED_MEMORY",
        meaning: "whether processes of one host share memory, where the MPI leaves their messages to libfabric",
        allowed: "on, off",
        default: "on, for processes of one user in one network namespace",
    },
    Variable {
        name: "FISHPLATE_PROGRESS",
        meaning: "progress while the program computes. auto: by a thread while it takes little processor time from others; thread: always by a thread; calls: only by calls of MPI",
        allowed: "auto, thread, calls",
        default: "auto",
    },
    Variable {
        name: "FISHPLATE_THREADS",
        meaning: "threads of a process that copy long messages to and from the kernel beside the calling thread",
        allowed: ThreadLimit::ALLOWED,
        default: "auto: one for each free processor, up to the number of rails",
    },
    Variable {
        name: "FISHPLATE_STATS",
        meaning: "file to which each process appends its per-rail counters when it ends",
        allowed: "a path in an existing folder",
        default: "no counters are written",
    },
    Variable {
        name: "FISHPLATE_LOG",
        meaning: "least severity of the events that become lines on standard error",
        allowed: "error, warn, info, debug",
        default: "warn",
    },
    Variable {
        name: "FISHPLATE_TOP",
        meaning: "whether processes show their rails to fishplate top",
        allowed: "on, off",
        default: "on",
    },
];

/// A variable with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}=\"{value}\" is not a valid setting; allowed: {allowed}")]
pub struct SettingError {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Allowed values.
    pub allowed: String,
}

impl Default for Settings {
    fn default() -> Self {
        let engine = fishplate_engine::Config::default();
        Settings {
            rails: Vec::new(),
            ports: None,
            streams: Streams::AUTOMATIC,
            striping: engine.striping,
            multiplexing: engine.multiplexing,
            eager_limit: engine.eager_limit,
            grant: None,
            timeout: Duration::from_secs(900),
            start_timeout: Duration::from_secs(30),
            congestion: None,
            encryption: false,
            checksum: false,
            secret: None,
            datagrams: true,
            shared_memory: true,
            progress: Progress::Automatic,
            threads: ThreadLimit::default(),
            stats: None,
            log: LevelFilter::Warn,
            top: true,
            ablation: Ablation::default(),
        }
    }
}

impl Settings {
    /// Reads the process's environment. An unset or empty variable leaves the default.
    pub fn from_env() -> Result<Settings, SettingError> {
        Settings::from_lookup(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads variables from any source of them.
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Settings, SettingError> {
        let reader = Reader { lookup };
        let default = Settings::default();
        let congestion = reader.parse("FISHPLATE_CONGESTION", congestion_control)?;
        let stats = reader.parse("FISHPLATE_STATS", stats_path)?;
        let timeout =
            reader.parse("FISHPLATE_TIMEOUT", |t| within(t.parse().ok(), 1, 86_400).map(Duration::from_secs))?;
        Ok(Settings {
            rails: reader.parse("FISHPLATE_RAILS", interface_list)?.unwrap_or(default.rails),
            ports: reader.parse("FISHPLATE_PORTS", from_str)?,
            streams: reader.parse("FISHPLATE_STREAMS", from_str)?.unwrap_or(default.streams),
            striping: reader.parse("FISHPLATE_STRIPING", from_str)?.unwrap_or(default.striping),
            multiplexing: reader.parse("FISHPLATE_MULTIPLEXING", from_str)?.unwrap_or(default.multiplexing),
            eager_limit: reader
                .parse("FISHPLATE_EAGER_LIMIT", |t| within(bytes(t), 0, 1 << 20))?
                .or(default.eager_limit),
            grant: reader.parse("FISHPLATE_GRANT", |t| within(bytes(t), 64 << 10, 1 << 30))?.or(default.grant),
            timeout: timeout.unwrap_or(default.timeout),
            start_timeout: timeout.unwrap_or(default.start_timeout),
            congestion,
            encryption: reader.parse("FISHPLATE_ENCRYPTION", on_or_off)?.unwrap_or(default.encryption),
            checksum: reader.parse("FISHPLATE_CHECKSUM", on_or_off)?.unwrap_or(default.checksum),
            secret: reader.parse("FISHPLATE_SECRET_FILE", |path| Secret::read(Path::new(path)).ok())?,
            datagrams: reader.parse("FISHPLATE_DATAGRAMS", on_or_off)?.unwrap_or(default.datagrams),
            shared_memory: reader.parse("FISHPLATE_SHARED_MEMORY", on_or_off)?.unwrap_or(default.shared_memory),
            progress: reader.parse("FISHPLATE_PROGRESS", progress)?.unwrap_or(default.progress),
            threads: reader.parse("FISHPLATE_THREADS", |text| text.parse().ok())?.unwrap_or(default.threads),
            stats,
            log: reader.parse("FISHPLATE_LOG", log_level)?.unwrap_or(default.log),
            top: reader.parse("FISHPLATE_TOP", on_or_off)?.unwrap_or(default.top),
            ablation: reader.parse(ablation::VARIABLE, from_str)?.unwrap_or(default.ablation),
        })
    }

    /// The settings that must be equal at both ends of a connection.
    pub fn terms(&self) -> Terms {
        Terms { encryption: self.encryption, secret: self.secret, checksum: self.checksum }
    }

    /// The engine's settings. `reserve`: numbers of the rails in reserve, for which users give no weights.
    pub fn engine_config(&self, reserve: Range<usize>) -> fishplate_engine::Config {
        let default = fishplate_engine::Config::default();
        let (mut multiplexing, mut striping) = (self.multiplexing.clone(), self.striping.clone());
        let of_multiplexing =
            if let Multiplexing::WeightedRoundRobin(weights) = &mut multiplexing { Some(weights) } else { None };
        let of_striping = if let Striping::Weighted(weights) = &mut striping { Some(weights) } else { None };
        for weights in [of_multiplexing, of_striping].into_iter().flatten().filter(|weights| !weights.is_empty()) {
            let at = reserve.start.min(weights.len());
            weights.splice(at..at, reserve.clone().map(|_| 1));
        }
        fishplate_engine::Config {
            multiplexing,
            striping,
            eager_limit: self.eager_limit,
            grant: self.grant.unwrap_or(default.grant),
            max_grant: self.grant.unwrap_or(default.max_grant),
            rail_timeout_ns: self.timeout.as_nanos() as u64,
            early_data: !self.ablation.is_off(Mechanism::EarlyData),
            // Registered memory may change between the checksum and the send.
            copies_responses: self.checksum && !self.encryption,
            ..default
        }
    }
}

struct Reader<L> {
    lookup: L,
}

impl<L: Fn(&'static str) -> Option<String>> Reader<L> {
    fn parse<T>(&self, name: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, SettingError> {
        let Some(value) = (self.lookup)(name).filter(|value| !value.is_empty()) else { return Ok(None) };
        match parse(&value) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(SettingError { name, allowed: allowed(name, &value), value }),
        }
    }
}

/// The allowed values of `name`, with this machine's choices where they depend on the machine.
fn allowed(name: &str, value: &str) -> String {
    if name == "FISHPLATE_CONGESTION" {
        return congestion_controls().join(", ");
    }
    if name == ablation::VARIABLE {
        return Ablation::names();
    }
    let allowed = VARIABLES.iter().find(|variable| variable.name == name).map_or("", |variable| variable.allowed);
    match secret::complaint(value).filter(|_| name == "FISHPLATE_SECRET_FILE") {
        Some(complaint) => format!("{allowed}; {complaint}"),
        None => allowed.to_string(),
    }
}

/// The congestion controls that this process may use, which depend on its user.
pub fn congestion_controls() -> Vec<String> {
    let listed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    listed.split_whitespace().filter(|name| may_use_congestion(name)).map(str::to_string).collect()
}

fn congestion_control(text: &str) -> Option<String> {
    may_use_congestion(text).then(|| text.to_string())
}

fn stats_path(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(text);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let usable = folder.is_none_or(|folder| folder.is_dir()) && !path.is_dir();
    usable.then_some(path)
}

fn on_or_off(text: &str) -> Option<bool> {
    [("on", true), ("off", false)].into_iter().find(|(word, _)| *word == text).map(|(_, value)| value)
}

fn progress(text: &str) -> Option<Progress> {
    match text {
        "auto" => Some(Progress::Automatic),
        "thread" => Some(Progress::Thread),
        "calls" => Some(Progress::Calls),
        _ => None,
    }
}

fn log_level(text: &str) -> Option<LevelFilter> {
    let levels = [LevelFilter::Error, LevelFilter::Warn, LevelFilter::Info, LevelFilter::Debug];
    levels.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(text))
}

fn interface_list(text: &str) -> Option<Vec<String>> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_string()).collect();
    let is_new = |(at, name): (usize, &String)| !names[..at].contains(name);
    let distinct = names.iter().enumerate().all(is_new);
    let is_word = |name: &String| discover::is_word(name) || Wanted::of(name).is_some();
    (distinct && names.iter().all(is_word)).then_some(names)
}

fn from_str<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn within<T: PartialOrd>(value: Option<T>, least: T, most: T) -> Option<T> {
    value.filter(|value| *value >= least && *value <= most)
}

/// `64K`, `4M`, `65536`.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix(['M', 'm']).map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &str) -> Result<Settings, SettingError> {
        Settings::from_lookup(|asked| (asked == name).then(|| value.to_string()))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        assert_eq!(Settings::from_lookup(|_| None).unwrap(), Settings::default());
    }

    #[test]
    fn values_are_read() {
        assert_eq!(read("FISHPLATE_STREAMS", "3").unwrap().streams, Streams::Fixed(3));
        assert_eq!(read("FISHPLATE_PORTS", "50000-50100").unwrap().ports, Some("50000-50100".parse().unwrap()));
        assert_eq!(read("FISHPLATE_EAGER_LIMIT", "8K").unwrap().eager_limit, Some(8192));
        assert_eq!(read("FISHPLATE_GRANT", "1M").unwrap().grant, Some(1 << 20));
        assert_eq!(read("FISHPLATE_PROGRESS", "calls").unwrap().progress, Progress::Calls);
        assert_eq!(read("FISHPLATE_THREADS", "3").unwrap().threads, ThreadLimit::Fixed(3));
        assert_eq!(read("FISHPLATE_THREADS", "auto").unwrap().threads, ThreadLimit::Automatic);
        assert_eq!(read("FISHPLATE_THREADS", "17").unwrap_err().name, "FISHPLATE_THREADS");
        assert_eq!(read("FISHPLATE_LOG", "debug").unwrap().log, LevelFilter::Debug);
        assert_eq!(read("FISHPLATE_RAILS", "eth0, eth1").unwrap().rails, ["eth0", "eth1"]);
        assert_eq!(read("FISHPLATE_RAILS", "tcp/msg:eth0").unwrap().rails, ["tcp/msg:eth0"]);
        assert!(read("FISHPLATE_RAILS", "tcp/dgram:eth0").is_err());
        assert_eq!(read("FISHPLATE_STRIPING", "weighted:4,1").unwrap().striping, Striping::Weighted(vec![4, 1]));
    }

    #[test]
    fn every_variable_refuses_nonsense_and_names_the_value_and_the_allowed_ones() {
        for variable in VARIABLES {
            let nonsense = if variable.name == "FISHPLATE_STATS" { "/no/such/folder/x" } else { "a,,b" };
            let error = read(variable.name, nonsense).expect_err(variable.name);
            let text = error.to_string();
            assert!(text.contains(variable.name) && text.contains(nonsense), "{text}");
            assert!(!error.allowed.is_empty(), "{text}");
        }
    }

    #[test]
    fn limits_hold() {
        for (name, value) in [
            ("FISHPLATE_PORTS", "50100-50000"),
            ("FISHPLATE_STREAMS", "0"),
            ("FISHPLATE_STREAMS", "17"),
            ("FISHPLATE_STREAMS", "auto:1"),
            ("FISHPLATE_GRANT", "1K"),
            ("FISHPLATE_EAGER_LIMIT", "2M"),
            ("FISHPLATE_EAGER_LIMIT", "99999999999999999999M"),
            ("FISHPLATE_TIMEOUT", "0"),
            ("FISHPLATE_RAILS", "eth0,eth0"),
        ] {
            assert!(read(name, value).is_err(), "{name}={value}");
        }
    }
}
