//! Obstacles for rails that share a network, and what the administrator can do about them.

use std::io::ErrorKind;
use std::net::IpAddr;

use crate::address::is_scoped;
use crate::rail::Rail;
use crate::socket::may_bind_to;

/// The hints for a rail, if it shares a network with another one.
pub fn hints(rail: &Rail, rails: &[Rail]) -> Vec<String> {
    let Some(other) = rail.neighbour(rails) else { return Vec::new() };
    let Some(device) = rail.device() else { return Vec::new() };
    let shares = format!("shares its network with {}", other.name);
    if may_bind_to(device).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        return vec![format!("{shares}: only one carries, as this kernel lets only root bind sockets to interfaces")];
    }
    // Link-local addresses are the interface's own: neither setting affects them.
    if rail.addresses.iter().any(|own| matches!(own.ip, IpAddr::V6(v6) if is_scoped(&v6))) {
        return Vec::new();
    }
    let set = |name: &str, device: &str| {
        let value = std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{device}/{name}")).unwrap_or_default();
        value.trim().parse::<u8>().unwrap_or(0)
    };
    let either = |name: &str| set(name, device).max(set(name, "all"));
    let mut hints = Vec::new();
    if either("rp_filter") == 1 {
        hints.push(format!(
            "{shares}, and the kernel drops packets that arrive over it: sysctl -w net.ipv4.conf.{device}.rp_filter=2"
        ));
    }
    if either("arp_filter") == 1 {
        hints.push(format!(
            "{shares}, and the kernel does not answer for it: sysctl -w net.ipv4.conf.all.arp_filter=0 \
             net.ipv4.conf.{device}.arp_filter=0"
        ));
    }
    hints
}
