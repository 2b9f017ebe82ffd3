//! The kernel's facts about a process's host.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use super::id::HostId;

/// The kernel's facts about a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Its name, in the process's UTS namespace; empty: not known.
    pub name: String,
    /// Which machine, and when it was started (the kernel's boot id); empty: not known.
    pub boot: String,
    /// Inode number of the network namespace; 0: not known.
    pub network: u64,
    /// Inode number of the time namespace, whose processes have one monotonic clock; 0: not known, or the kernel has none.
    pub time: u64,
}

impl Host {
    /// The host of this process, as it was when it was first asked for.
    pub fn own() -> &'static Host {
        static OWN: OnceLock<Host> = OnceLock::new();
        OWN.get_or_init(|| {
            Host::read(rustix::system::uname().nodename().to_string_lossy().into_owned(), Path::new("/proc"))
        })
    }

    /// One of which nothing but the name is known, as files of before have it.
    pub fn named(name: &str) -> Host {
        Host { name: name.into(), ..Host::default() }
    }

    /// Facts of a mounted proc file system about this process's host.
    fn read(name: String, proc: &Path) -> Host {
        let boot = fs::read_to_string(proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
        let namespace = |kind: &str| fs::metadata(proc.join("self/ns").join(kind)).map_or(0, |file| file.ino());
        Host { name, boot: boot.trim().into(), network: namespace("net"), time: namespace("time") }
    }

    /// Its identity. The name replaces unknown facts, so that machines without a boot id differ.
    pub fn id(&self) -> HostId {
        HostId::of(&[&self.machine(), &self.number(self.network)])
    }

    /// Equal for processes that share processors and memory: those of one boot of a machine.
    pub fn machine(&self) -> String {
        if self.boot.is_empty() { format!("name {}", self.name) } else { self.boot.clone() }
    }

    /// Equal for processes that have one monotonic clock.
    pub fn clock(&self) -> String {
        if self.time == 0 { self.machine() } else { format!("{} {}", self.machine(), self.time) }
    }

    fn number(&self, namespace: u64) -> String {
        if namespace == 0 { format!("name {}", self.name) } else { namespace.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, boot: &str, network: u64) -> Host {
        Host { name: name.into(), boot: boot.into(), network, time: 0 }
    }

    #[test]
    fn the_name_of_a_host_does_not_count_where_other_facts_are_known() {
        let of = |name, boot, network| host(name, boot, network).id();
        let one = of("node", "boot-1", 1);
        assert_eq!(one, of("container", "boot-1", 1), "containers in the network of their machine");
        assert_ne!(one, of("node", "boot-2", 1), "cloned machines");
        assert_ne!(one, of("node", "boot-1", 2), "containers with networks of their own");
        assert_ne!(of("node", "boot-1", 12), of("node", "boot-11", 2));
    }

    #[test]
    fn the_name_counts_where_other_facts_are_unknown() {
        for (boot, network) in [("", 1), ("boot-1", 0), ("", 0)] {
            assert_eq!(host("a", boot, network).id(), host("a", boot, network).id());
            assert_ne!(host("a", boot, network).id(), host("b", boot, network).id(), "{boot} {network}");
        }
        assert_eq!(host("a", "", 1).machine(), "name a");
    }

    #[test]
    fn clocks_are_those_of_machines_and_time_namespaces() {
        let clock = |network, time| Host { time, ..host("a", "boot-1", network) }.clock();
        assert_eq!(clock(1, 5), clock(2, 5));
        assert_ne!(clock(1, 5), clock(1, 6));
        assert_eq!(clock(1, 0), "boot-1");
    }

    #[test]
    fn a_proc_file_system_is_read_as_far_as_it_goes() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(Host::read("a".into(), proc.path()), host("a", "", 0));
        let boot = proc.path().join("sys/kernel/random");
        fs::create_dir_all(&boot).unwrap();
        fs::write(boot.join("boot_id"), "0-1\n").unwrap();
        fs::create_dir_all(proc.path().join("self/ns")).unwrap();
        fs::write(proc.path().join("self/ns/net"), "").unwrap();
        let read = Host::read("a".into(), proc.path());
        assert_eq!((read.boot.as_str(), read.network > 0, read.time), ("0-1", true, 0));
        let own = Host::own();
        assert!(!own.name.is_empty() && own.network > 0 && own.boot.len() == 36, "{own:?}");
    }
}
