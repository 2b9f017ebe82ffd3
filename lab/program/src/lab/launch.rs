//! Prerequisites of MPI launchers for starting processes on the hosts of a testbed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};

use super::Lab;
use crate::testbed::{MANAGEMENT, host, rail_names};

/// Slots that Open MPI sees on each host: more than anyone starts here.
const SLOTS: usize = 64;

/// Variable that names the remote shell of a testbed.
pub const REMOTE_SHELL: &str = "FISHPLATE_TESTBED_LAUNCH";

/// Variable with which a user chooses rails. By itself Fishplate takes TAP devices for tunnels, and no rails; and what starts
/// processes would be in reserve, for when rails are cut.
pub const RAILS: &str = "FISHPLATE_RAILS";

/// Variable that names a file with a machine's topology, for hwloc.
const TOPOLOGY_FILE: &str = "HWLOC_XMLFILE";

/// Environment in which a plain `mpiexec` spreads its ranks over the hosts in turn.
pub fn environment(testbed: &Lab) -> Result<Vec<(String, OsString)>> {
    let script = write_remote_shell(testbed)?;
    let names = || testbed.clients().iter().map(|host| host.name.as_str());
    let hydra_hosts = write(testbed, "hydra.hosts", &names().map(|n| format!("{n}:1\n")).collect::<String>())?;
    let prte_hosts =
        write(testbed, "prte.hosts", &names().map(|n| format!("{n} slots={SLOTS}\n")).collect::<String>())?;
    let temporary = testbed.folder().join("tmp");
    fs::create_dir_all(&temporary).context("cannot make a temporary folder")?;
    let addresses = testbed
        .clients()
        .iter()
        .map(|host| (0..testbed.rails()).map(|rail| host.rail_address(rail).to_string()).collect::<Vec<_>>().join(","));

    let mut environment = vec![
        set(REMOTE_SHELL, &script),
        set("FISHPLATE_TESTBED_HOSTS", &names().collect::<Vec<_>>().join(",")),
        set("FISHPLATE_TESTBED_RAILS", &rail_names(testbed.topology().ports())),
        set("FISHPLATE_TESTBED_ADDRESSES", &addresses.collect::<Vec<_>>().join(";")),
        set("TMPDIR", &temporary),
    ];
    environment.extend(launchers(&script, &hydra_hosts, &prte_hosts));
    if std::env::var_os(TOPOLOGY_FILE).is_none() {
        // MPICH's hydra writes this machine's topology into /tmp, whatever TMPDIR is, and leaves it there when it is killed. It does
        // not if this variable names a file. The file does not exist, so every rank reads the topology itself.
        environment.push(set(TOPOLOGY_FILE, &temporary.join("topology.xml")));
    }
    environment.extend(testbed.storage().into_iter().flat_map(|storage| storage.variables().iter().cloned()));
    let rails =
        if testbed.rails_are_tunnels() { rail_names(testbed.topology().ports()) } else { format!("^{MANAGEMENT}") };
    environment.push(set(RAILS, &rails));
    Ok(environment)
}

/// Variables that have the launchers of MPI libraries start processes by the remote shell.
fn launchers(script: &Path, hydra_hosts: &Path, prte_hosts: &Path) -> Vec<(String, OsString)> {
    vec![
        // MPICH's hydra.
        set("HYDRA_LAUNCHER", &"rsh"),
        set("HYDRA_LAUNCHER_EXEC", &script),
        set("HYDRA_HOST_FILE", &hydra_hosts),
        set("HYDRA_IFACE", &MANAGEMENT),
        // Intel MPI's hydra, which reads HYDRA_HOST_FILE as well. It would pin each host's first rank to the same core.
        set("I_MPI_HYDRA_BOOTSTRAP", &"rsh"),
        set("I_MPI_HYDRA_BOOTSTRAP_EXEC", &script),
        set("I_MPI_HYDRA_IFACE", &MANAGEMENT),
        set("I_MPI_PERHOST", &"1"),
        set("I_MPI_PIN", &"0"),
        // Open MPI's PRRTE. Without "none" every host would bind its first rank to the same core.
        set("PRTE_MCA_plm_ssh_agent", &script),
        set("PRTE_MCA_prte_default_hostfile", &prte_hosts),
        set("PRTE_MCA_prte_if_include", &MANAGEMENT),
        set("PRTE_MCA_rmaps_default_mapping_policy", &"node:oversubscribe"),
        set("PRTE_MCA_hwloc_default_binding_policy", &"none"),
        set("OMPI_ALLOW_RUN_AS_ROOT", &"1"),
        set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", &"1"),
    ]
}

fn set(name: &str, value: &dyn AsRef<OsStr>) -> (String, OsString) {
    (name.to_string(), value.as_ref().to_os_string())
}

/// Gives a command such an environment. A choice of rails that it has already comes before the lab's.
pub fn apply<V: AsRef<OsStr>>(command: &mut Command, environment: impl IntoIterator<Item = (String, V)>) {
    let given = command.get_envs().find(|(name, _)| *name == RAILS).map(|(_, value)| value.is_some());
    let is_chosen = given.unwrap_or_else(|| std::env::var_os(RAILS).is_some());
    command.envs(environment.into_iter().filter(|(name, _)| name != RAILS || !is_chosen));
}

/// Makes the names of the first `hosts` hosts known, for as long as the testbed lives and only within it. Called before the hosts
/// start, which inherit the mount.
pub fn publish_names(hosts: usize, folder: &Path) -> Result<()> {
    let target = Path::new("/etc/hosts");
    let Ok(mut text) = fs::read_to_string(target) else { return Ok(()) };
    for index in 0..hosts {
        text += &format!("{} {}\n", host::management_address(index), host::name(index));
    }
    let file = folder.join("hosts");
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    mount(Some(&file), target, None::<&str>, MsFlags::MS_BIND, None::<&str>).context("cannot replace /etc/hosts")
}

/// A stand-in for rsh and ssh: options, a host, a command line for a shell.
fn write_remote_shell(testbed: &Lab) -> Result<PathBuf> {
    let mut script = String::from(
        "#!/bin/sh\n\
         # Remote shell of a Fishplate testbed.\n\
         while :; do case \"$1\" in -l|-p|-o) shift 2;; -*) shift;; *) break;; esac; done\n\
         host=$1; shift\n\
         case \"$host\" in\n",
    );
    for host in testbed.hosts() {
        let (name, address, prefix) = (&host.name, host.management_address(), host.shell_prefix()?);
        script += &format!("{name}|{address}) exec {prefix} /bin/sh -c \"$*\";;\n");
    }
    script += "*) echo \"no such host in this testbed: $host\" >&2; exit 255;;\nesac\n";
    let path = write(testbed, "rsh", &script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).context("cannot make a script executable")?;
    Ok(path)
}

fn write(testbed: &Lab, name: &str, text: &str) -> Result<PathBuf> {
    let path = testbed.folder().join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
