//! Storage of testbeds and labs. Of those with servers only what was set up is tried; nothing is fetched.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::common::Installed;

/// The program, where a testbed with this storage comes up.
fn with(storage: &str) -> Option<Installed> {
    Installed::with_testbed(&["--hosts", "3", "--storage", storage])
}

#[test]
fn memory_is_seen_by_all_hosts_and_gone_afterwards() {
    let Some(fishplate) = with("tmpfs") else { return };
    let script = "echo hello > $FISHPLATE_STORAGE/f; echo $FISHPLATE_STORAGE; $FISHPLATE_TESTBED_LAUNCH node1 cat $FISHPLATE_STORAGE/f
                  dd if=/dev/zero of=$FISHPLATE_STORAGE/g bs=1M count=9 2>&1 | grep -o 'No space left'";
    let ran = fishplate.run(&["testbed", "--storage", "tmpfs:size_mib=8", "--", "sh", "-c", script]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[1..], ["hello", "No space left"], "{}", ran.err);
    assert!(!fs::exists(lines[0]).unwrap());
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(lines[0]), "{mounts}");
}

#[test]
fn a_folder_of_the_users_is_left_as_it_is() {
    let Some(fishplate) = with("tmpfs") else { return };
    let folder = tempfile::tempdir().unwrap();
    let storage = format!("path:{}", folder.path().display());
    let script = "echo hello > $FISHPLATE_STORAGE/f";
    fishplate.run(&["testbed", "--storage", &storage, "--", "sh", "-c", script]).succeeds();
    assert_eq!(fs::read_to_string(folder.path().join("f")).unwrap(), "hello\n");
}

/// Servers are hosts on which launchers start nothing, and one that is killed is reported.
#[test]
fn servers_are_the_last_hosts() {
    for (storage, server) in [
        ("nfs", "ganesha.nfsd"),
        ("nfs3", "ganesha.nfsd"),
        ("glusterfs:servers=1", "glusterfsd"),
        ("moosefs:servers=1", "mfsmaster"),
    ] {
        let Some(fishplate) = with(storage) else { continue };
        let script = format!(
            "echo $FISHPLATE_TESTBED_HOSTS $FISHPLATE_STORAGE_SERVERS; if [ -d $FISHPLATE_STORAGE ]; then echo hello > $FISHPLATE_STORAGE/f
             $FISHPLATE_TESTBED_LAUNCH node1 cat $FISHPLATE_STORAGE/f; else echo hello; fi
             for process in /proc/[0-9]*; do read name < $process/comm; [ \"$name\" = {server} ] && kill -9 ${{process#/proc/}}; done
             sleep 0.2"
        );
        let ran = fishplate.run(&["testbed", "--hosts", "3", "--storage", storage, "--", "sh", "-c", &script]);
        assert_eq!(ran.out, "node0,node1 node2\nhello\n", "{storage}: {}", ran.err);
        assert!(ran.err.contains("on node2 has ended (signal: 9 (SIGKILL))"), "{storage}: {}", ran.err);
    }
}

/// `kill -9` of the testbed while its storage is written to: the kernel takes everything away.
#[test]
fn nothing_is_left_behind_by_force() {
    for storage in ["tmpfs", "nfs", "nfs3", "glusterfs", "moosefs"] {
        let Some(fishplate) = with(storage) else { continue };
        let script = "echo $FISHPLATE_STORAGE; while :; do echo x 2>/dev/null >> $FISHPLATE_STORAGE/f; done";
        let mut command =
            fishplate.command(&["testbed", "--hosts", "3", "--storage", storage, "--", "sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut place = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut place).unwrap();
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        // The pipe is closed when the last of its processes is gone.
        std::io::Read::read_to_end(&mut out, &mut Vec::new()).unwrap();
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        assert!(!mounts.contains("fishplate-testbed"), "{storage} at {place}: {mounts}");
    }
}

#[test]
fn impossible_descriptions_are_reported() {
    let fishplate = Installed::new();
    fishplate.fails_as_listed(include_str!("mistakes/storage.txt"));
    let ran = fishplate
        .run_with(("FISHPLATE_CACHE", "/no/such/cache"), &["testbed", "--storage", "moosefs:servers=1", "--", "true"]);
    ran.fails_saying(&["storage moosefs is not set up here", "`fishplate setup --storage moosefs` does that"]);
}
