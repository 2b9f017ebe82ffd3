//! The whole of it: which hosts are looked at, in which order, and all that is found.

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Result;
use fishplate_rails::trial::Offer;
use fishplate_rails::trial::path::PairTrial;
use fishplate_rails::{Settings, process};
use serde::Serialize;

use super::checks::{distance, kernel, mpi, open_files, packet_sizes, paths, provider, rails, shared_memory, versions};
use super::facts::{self, Assignment, Here, HostFacts};
use super::finding::{Finding, in_order};
use super::remote_host::{RemoteHost, Unexamined};
use super::remote_shell::RemoteShell;

pub struct Request {
    /// Other hosts.
    pub hosts: Vec<String>,
    /// How to get there.
    pub remote_shell: RemoteShell,
    /// The MPI of this host, or why there is none.
    pub mpi: Result<mpi::find::Found, String>,
    /// Environment variables that `fishplate run` would set for it.
    pub variables: Vec<(String, String)>,
    /// The provider's file, or why there is none.
    pub provider: Result<PathBuf, String>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    /// Hosts that were looked at, this one first.
    pub hosts: Vec<String>,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// A host that was looked at.
struct Examined {
    name: String,
    facts: HostFacts,
    /// Results of the trials of paths to other hosts.
    ways: Vec<(String, Vec<PairTrial>)>,
}

pub fn examine(request: &Request) -> Result<Report> {
    let wanted = request.mpi.as_ref().ok().filter(|_| request.provider.is_ok());
    let wanted =
        wanted.map(|found| mpi::Wanted { library: found.library.clone(), variables: request.variables.clone() });
    let assignment = Assignment::new(wanted, request.provider.as_ref().ok().cloned());
    let settings = assignment.settings()?;
    let own_name = process::host().to_string();
    let mut findings = provider::judge_here(&own_name, &request.provider);
    findings.extend(mpi::judge_found(&own_name, &request.mpi));

    let (own, answers) = thread::scope(|scope| {
        let begin = |host: &String| {
            let (shell, assignment, host) = (&request.remote_shell, &assignment, host.clone());
            scope.spawn(move || RemoteHost::start(shell, &host, assignment))
        };
        let threads: Vec<_> = request.hosts.iter().map(begin).collect();
        let own = facts::gather(&assignment);
        (own, threads.into_iter().map(|thread| thread.join().expect("a thread ends well")).collect::<Vec<_>>())
    });
    let (own_facts, here) = own?;
    let mut remotes = Vec::new();
    let mut examined = vec![Examined { name: own_name, facts: own_facts, ways: Vec::new() }];
    for (host, answer) in request.hosts.iter().zip(answers) {
        match answer {
            Err(why) => findings.push(unexamined(host, why)),
            Ok((_, facts)) if examined.iter().any(|other| other.facts.host == facts.host) => {
                let to_do = "name other hosts".to_string();
                findings.push(Finding::warning(
                    "hosts",
                    host,
                    "this is a host that is looked at already".into(),
                    to_do,
                ));
            }
            Ok((remote, facts)) => {
                remotes.push(remote);
                examined.push(Examined { name: host.clone(), facts, ways: Vec::new() });
            }
        }
    }
    findings.extend(try_ways(&here, &mut remotes, &mut examined));
    findings.extend(judge(&examined, &settings, request.provider.as_deref().ok()));
    let hosts = examined.into_iter().map(|host| host.name).collect();
    Ok(Report { hosts, findings: in_order(findings) })
}

/// Makes every host try the paths to all others, all concurrently.
fn try_ways(here: &Here, remotes: &mut [RemoteHost], examined: &mut [Examined]) -> Vec<Finding> {
    let offers: Vec<(String, Offer)> =
        examined.iter().filter_map(|host| Some((host.name.clone(), host.facts.offer.clone().ok()?))).collect();
    let of_others = |name: &str| offers.iter().filter(|(other, _)| other != name).cloned().collect::<Vec<_>>();
    let (first, others) = examined.split_first_mut().expect("this host is one");
    let mut findings = Vec::new();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (remote, host) in remotes.iter_mut().zip(others.iter()) {
            let offers = of_others(&host.name);
            threads.push(scope.spawn(move || remote.try_ways(&offers)));
        }
        first.ways = here.try_ways(&of_others(&first.name));
        for (host, thread) in others.iter_mut().zip(threads) {
            match thread.join().expect("a thread ends well") {
                Ok(ways) => host.ways = ways,
                Err(why) => findings.push(unexamined(&host.name, why)),
            }
        }
    });
    findings
}

fn judge(examined: &[Examined], settings: &Settings, provider: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let all: Vec<_> = examined.iter().map(|host| (host.name.as_str(), &host.facts.versions)).collect();
    findings.extend(versions::judge(&all));
    for (at, host) in examined.iter().enumerate() {
        let Examined { name, facts, .. } = host;
        if let Some(provider) = provider.filter(|_| at > 0) {
            findings.extend(provider::judge_there(name, provider, facts.has_provider));
        }
        findings.extend(mpi::judge(name, &facts.mpi));
        findings.extend(rails::judge(name, &facts.rails, examined.len() > 1));
        if let Err(why) = &facts.offer {
            let to_do = "solve this first: ranks would fail for this reason".to_string();
            findings.push(Finding::prevents("ports", name, why.clone(), to_do));
        }
        for (other, trials) in &host.ways {
            let Some(there) = examined.iter().find(|one| one.name == *other) else { continue };
            findings.extend(judge_way(host, there, trials, settings));
        }
        findings.extend(kernel::judge(name, &facts.kernel));
        findings.extend(shared_memory::judge(name, &facts.shared_memory));
    }
    let limits: Vec<_> = examined.iter().map(|host| (host.name.as_str(), &host.facts.open_files)).collect();
    findings.extend(open_files::judge(&limits));
    findings
}

fn judge_way(here: &Examined, there: &Examined, trials: &[PairTrial], settings: &Settings) -> Vec<Finding> {
    let back = there.ways.iter().find(|(other, _)| *other == here.name);
    let crossing = paths::Crossing {
        from: &here.name,
        rails_here: &here.facts.rails,
        to: &there.name,
        leads_back: back.is_some_and(|(_, trials)| paths::connected(trials).next().is_some()),
        rails_there: &there.facts.rails,
        trials,
        port: there.facts.offer.as_ref().map_or(0, |offer| offer.port),
        ports: settings.ports,
        uses_datagrams: settings.datagrams && !settings.encryption,
    };
    let mut findings = paths::judge(&crossing);
    findings.extend(packet_sizes::judge(&here.name, &here.facts.rails, &there.name, trials));
    findings.extend(distance::judge(&end(here), &end(there), trials));
    findings
}

fn end(host: &Examined) -> distance::End<'_> {
    distance::End { host: &host.name, rails: &host.facts.rails, kernel: &host.facts.kernel }
}

fn unexamined(host: &str, why: Unexamined) -> Finding {
    let (found, to_do) = match why {
        Unexamined::NoShell { program, said } => {
            let said = if said.is_empty() { "it ends without a word".into() } else { said };
            (
                format!("nothing can be started there by {program}: {said}"),
                format!(
                    "make `{program} {host} true` work without a password, which MPI launchers need as well, or name \
                     another remote shell: --remote-shell"
                ),
            )
        }
        Unexamined::Absent => (
            "Fishplate is not installed there: neither in the folder that it has here nor in PATH".into(),
            "install it there in the folder that it has here, so that programs find the provider".into(),
        ),
        Unexamined::Other { program, said } => (
            format!("\"{program}\" there does not understand this one, which is {}: {said}", env!("CARGO_PKG_VERSION")),
            "install one version on both hosts".into(),
        ),
        Unexamined::Silent(patience) => (
            format!("it does not answer within {} s", patience.as_secs()),
            format!("check whether its file systems or its name service hang; run `fishplate doctor` on {host} itself"),
        ),
    };
    Finding::prevents("hosts", host, found, to_do)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_cannot_be_examined_is_reported_with_a_remedy() {
        let said = "Could not resolve hostname b".to_string();
        for (why, parts) in [
            (Unexamined::NoShell { program: "ssh".into(), said }, ["Could not resolve hostname b", "`ssh b true`"]),
            (Unexamined::NoShell { program: "ssh".into(), said: String::new() }, ["without a word", "--remote-shell"]),
            (Unexamined::Absent, ["Fishplate is not installed there", "install it there"]),
            (
                Unexamined::Other { program: "fishplate 0.1.0".into(), said: "unrecognized".into() },
                ["\"fishplate 0.1.0\" there does not understand", "install one version"],
            ),
            (Unexamined::Silent(std::time::Duration::from_secs(60)), ["within 60 s", "on b itself"]),
        ] {
            let finding = format!("{:?}", unexamined("b", why)).replace("\\\"", "\"");
            parts.iter().for_each(|part| assert!(finding.contains(part), "{part} in {finding}"));
        }
    }
}
