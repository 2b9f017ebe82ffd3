//! Adapters that providers drive without the network stack, and the network interfaces of the same hardware: IPoIB, or the
//! Ethernet of RoCE.

use std::path::{Path, PathBuf};

/// Where the kernel describes devices.
pub const SYSFS: &str = "/sys";
/// Device classes of such adapters.
const CLASSES: [&str; 2] = ["infiniband", "cxi"];
/// Layers of interfaces on top of each other, at most: a VLAN on a bond, for example.
const MAX_LAYERS: usize = 4;

/// An adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The hardware: a device of a bus.
    pub device: PathBuf,
    /// Its network interfaces, and those on top of them.
    pub interfaces: Vec<String>,
}

impl Adapter {
    /// The adapter called `name`. `None`: there is none, or it is software on top of an interface.
    pub fn of(sysfs: &Path, name: &str) -> Option<Adapter> {
        let described = CLASSES.map(|class| sysfs.join("class").join(class).join(name));
        let described = described.into_iter().find(|path| path.is_dir())?;
        if described.join("parent").exists() {
            return None;
        }
        let device = described.join("device").canonicalize().ok()?;
        let all = sysfs.join("class/net");
        let mut interfaces = names(&all);
        interfaces.retain(|name| is_by(&all.join(name), &device, MAX_LAYERS));
        Some(Adapter { device, interfaces })
    }

    /// The names of all adapters.
    pub fn names(sysfs: &Path) -> Vec<String> {
        let mut all: Vec<String> = CLASSES.iter().flat_map(|class| names(&sysfs.join("class").join(class))).collect();
        all.retain(|name| Adapter::of(sysfs, name).is_some());
        all
    }
}

/// Whether an interface belongs to a device, or is on top of one that does.
fn is_by(interface: &Path, device: &Path, layers: usize) -> bool {
    if interface.join("device").canonicalize().is_ok_and(|own| own == *device) {
        return true;
    }
    let is_lower = |name: &String| name.starts_with("lower_");
    layers > 0
        && names(interface)
            .iter()
            .filter(|name| is_lower(name))
            .any(|lower| is_by(&interface.join(lower), device, layers - 1))
}

/// Entries of a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// A folder like /sys of a host with adapters, for tests.
#[cfg(test)]
pub mod pretended {
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tempfile::TempDir;

    /// `mlx5_0` (RoCE) with `eth0`, of which `bond0` and on that `bond0.7` are made; `mlx5_1` (InfiniBand) with `ib0`;
    /// `cxi0` with `hsn0`; `rxe0`, by software on `eth9`, which is like any other.
    pub fn sysfs() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        let device = |bus: &str| {
            let device = path.join("devices").join(bus);
            create_dir_all(&device).unwrap();
            device
        };
        let [roce, infiniband, slingshot, ethernet] = ["pci0", "pci1", "pci2", "pci3"].map(device);
        let has = |class: &str, name: &str, device: &Path| {
            let of = path.join("class").join(class).join(name);
            create_dir_all(&of).unwrap();
            symlink(device, of.join("device")).unwrap();
        };
        has("infiniband", "mlx5_0", &roce);
        has("infiniband", "mlx5_1", &infiniband);
        has("cxi", "cxi0", &slingshot);
        has("infiniband", "rxe0", &ethernet);
        std::fs::write(path.join("class/infiniband/rxe0/parent"), "eth9\n").unwrap();
        has("net", "eth0", &roce);
        has("net", "ib0", &infiniband);
        has("net", "hsn0", &slingshot);
        has("net", "eth9", &ethernet);
        for (upper, lower) in [("bond0", "eth0"), ("bond0.7", "bond0")] {
            let of = path.join("class/net").join(upper);
            create_dir_all(&of).unwrap();
            symlink(path.join("class/net").join(lower), of.join(format!("lower_{lower}"))).unwrap();
        }
        create_dir_all(path.join("class/net/lo")).unwrap();
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_has_its_own_interfaces_and_those_on_top_of_them() {
        let root = pretended::sysfs();
        let interfaces = |name| Adapter::of(root.path(), name).map(|adapter| adapter.interfaces);
        assert_eq!(interfaces("mlx5_0").unwrap(), ["bond0", "bond0.7", "eth0"]);
        assert_eq!(interfaces("mlx5_1").unwrap(), ["ib0"]);
        assert_eq!(interfaces("cxi0").unwrap(), ["hsn0"]);
        assert_eq!(interfaces("rxe0"), None, "made by software");
        assert_eq!(interfaces("eth9"), None, "no such adapter");
        assert_eq!(Adapter::names(root.path()), ["mlx5_0", "mlx5_1", "cxi0"]);
        assert_eq!(Adapter::names(Path::new("/nonexistent")), [""; 0]);
    }
}
