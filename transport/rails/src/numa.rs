//! The NUMA node of an interface's device: memory of other nodes is farther from it.

use std::path::Path;

/// Where the kernel shows devices of interfaces.
const SYSFS: &str = "/sys/class/net";

/// The node of interface `name`, whose number in the kernel is `index`; none where the kernel does not say.
pub fn node(name: &str, index: u32) -> Option<u32> {
    node_in(Path::new(SYSFS), name, index)
}

fn node_in(sysfs: &Path, name: &str, index: u32) -> Option<u32> {
    let number =
        |file: &str| -> Option<i64> { std::fs::read_to_string(sysfs.join(name).join(file)).ok()?.trim().parse().ok() };
    // /sys may show another namespace, with other interfaces of the same names.
    let is_it = number("ifindex")? == i64::from(index);
    // -1: a machine with one node, or not known.
    u32::try_from(number("device/numa_node").filter(|_| is_it)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_is_that_of_the_device_if_it_is_of_this_interface() {
        let sysfs = std::env::temp_dir().join(format!("fishplate-numa-{}", std::process::id()));
        let write = |name: &str, node: Option<&str>| {
            let folder = sysfs.join(name);
            std::fs::create_dir_all(folder.join("device")).unwrap();
            std::fs::write(folder.join("ifindex"), "7\n").unwrap();
            node.iter().for_each(|node| std::fs::write(folder.join("device/numa_node"), node).unwrap());
        };
        write("eth0", Some("1\n"));
        write("eth1", Some("-1\n"));
        write("veth", None);
        let found = ["eth0", "eth1", "veth", "absent"].map(|name| node_in(&sysfs, name, 7));
        assert_eq!(found, [Some(1), None, None, None]);
        assert_eq!(node_in(&sysfs, "eth0", 8), None, "that is another interface");
        std::fs::remove_dir_all(&sysfs).unwrap();
    }
}
