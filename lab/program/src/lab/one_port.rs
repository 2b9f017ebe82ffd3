//! Hosts with one port, over which all rails are paths: a site's router has an address for each uplink, and hosts choose the
//! uplink by the address that they send from (policy routing).

use crate::testbed::host::Host;
use crate::testbed::rail_name;

/// Number of the routing table of the first path; those of the kernel and of users' habits are less, or 253 and above.
const FIRST_TABLE: usize = 100;

/// Lines for `ip -batch` that address the bridge of a switch as the gateway of each path.
pub fn switch_lines(switch: &Host, paths: usize) -> String {
    let port = rail_name(0);
    (0..paths).map(|path| format!("address add {}/24 dev {port}\n", switch.rail_address(path))).collect()
}

/// Lines that give a host an address for each path, and send packets from it to that path's gateway. What is for a
/// path's far addresses leaves from the path's own, unless a program chooses another.
pub fn host_lines(host: &Host, switch: &Host, paths: usize) -> String {
    let port = rail_name(0);
    let mut lines = format!("link set {port} addrgenmode none\nlink set {port} up\n");
    for path in 0..paths {
        let (own, gateway, table) = (host.rail_address(path), switch.rail_address(path), FIRST_TABLE + path);
        let [a, b, c, _] = own.octets();
        let way = format!("via {gateway} dev {port} onlink src {own}");
        lines += &format!("address add {own}/32 dev {port}\n");
        lines += &format!("route add {a}.{b}.{c}.0/24 {way}\nroute add default {way} table {table}\n");
        lines += &format!("rule add from {own} table {table}\n");
    }
    lines
}
