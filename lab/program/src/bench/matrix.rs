//! The cells of a plan: their order, and which cannot be measured.

use super::benchmark::Benchmark;
use super::plan::Plan;
use crate::mpi::stacks::Stack;

/// In which order stacks have their turns: forth in even rounds, back in odd ones, so that none is always measured
/// early, when a machine is still cool, or late.
pub fn turns(stacks: usize, round: u32) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..stacks).collect() } else { (0..stacks).rev().collect() }
}

/// Why a stack cannot be measured with a benchmark, as far as is known beforehand.
pub fn obstacle(plan: &Plan, link: &str, benchmark: &Benchmark, stack: &Stack) -> Option<String> {
    let program = &benchmark.program;
    if !benchmark.links.is_empty() && !benchmark.links.iter().any(|name| name == link) {
        return Some(format!("the plan measures it on {} only", benchmark.links.join(", ")));
    }
    if !benchmark.stacks.is_empty() && !benchmark.stacks.contains(&stack.name) {
        return Some(format!("the plan measures it with {} only", benchmark.stacks.join(", ")));
    }
    if plan.network.is_some() && benchmark.schedule.is_some() {
        return Some("it has rails change, which only emulated ones do".into());
    }
    if plan.network.is_some() && !benchmark.ranks_by_host.is_empty() {
        return Some("it gives hosts different numbers of ranks, which only emulated ones have".into());
    }
    if let Some(reason) = benchmark.exclude.get(&stack.name) {
        return Some(reason.clone());
    }
    if !stack.mpi {
        let name = program.name();
        return match program.sockets_command() {
            None => Some(format!("{name} needs MPI, and this stack is plain sockets")),
            Some(_) if plan.network.is_some() => {
                Some("plain sockets need a server on another host, which only emulated links have".into())
            }
            Some(_) => None,
        };
    }
    if program.is_below_mpi() {
        return Some(format!("{} measures what lies below MPI", program.name()));
    }
    if let Some(reason) = program.application().and_then(|application| application.misfit(stack)) {
        return Some(reason);
    }
    if program.is_one_sided() && !stack.one_sided {
        return Some("one-sided communication does not work with this stack (`one_sided = false`)".into());
    }
    if program.is_threaded() && !stack.threads {
        return Some("MPI_THREAD_MULTIPLE does not work with this stack (`threads = false`)".into());
    }
    if benchmark.needs_storage() && !plan.has_storage(link) {
        return Some("it needs a place for files: --storage NAME, `storage` of the link, or --path of its own".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::program::Program;
    use crate::mpi::stacks::Catalog;

    #[test]
    fn over_two_rounds_all_stacks_have_the_same_mean_turn() {
        for stacks in 1..5 {
            let sums: Vec<usize> = (0..stacks)
                .map(|stack| (0..2).map(|r| turns(stacks, r).iter().position(|s| *s == stack).unwrap()).sum())
                .collect();
            assert_eq!(sums, vec![stacks - 1; stacks]);
        }
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let catalog = Catalog::load(&[]).unwrap();
        let why = |program: &str, stack: &str| {
            let benchmark = Benchmark::of(Program::try_from(program.to_string()).unwrap(), Vec::new());
            obstacle(&Plan::default(), "lan", &benchmark, &catalog.find(stack).unwrap()).unwrap_or_default()
        };
        assert!(why("bcast", "tcp").contains("bcast needs MPI"));
        assert_eq!(why("latency", "tcp"), "");
        assert!(why("sockets_latency", "mpich-tcp").contains("below MPI"));
        assert_eq!(why("sockets_latency", "mptcp"), "");
        assert_eq!(why("put_latency", "mpich-tcp"), "");
        assert_eq!(why("lammps", "mpich-ucx"), "");
        assert!(why("lammps", "fishplate-openmpi").contains("such as mpich-tcp or fishplate-mpich"));
        assert!(why("gromacs", "tcp").contains("gromacs needs MPI"));
        let mut benchmark = Benchmark::of(Program::try_from("latency".to_string()).unwrap(), Vec::new());
        benchmark.exclude.insert("mpich-tcp".into(), "too slow".into());
        let excluded = obstacle(&Plan::default(), "lan", &benchmark, &catalog.find("mpich-tcp").unwrap());
        assert_eq!(excluded.as_deref(), Some("too slow"));
        let elsewhere = Benchmark { links: vec!["wan".into(), "far".into()], ..benchmark };
        let obstacle = |link| obstacle(&Plan::default(), link, &elsewhere, &catalog.find("openmpi-tcp").unwrap());
        assert_eq!(obstacle("lan").as_deref(), Some("the plan measures it on wan, far only"));
        assert_eq!(obstacle("far"), None);
        let others = Benchmark { stacks: vec!["mpich-ucx".into()], ..elsewhere.clone() };
        let why =
            crate::bench::matrix::obstacle(&Plan::default(), "far", &others, &catalog.find("openmpi-tcp").unwrap());
        assert_eq!(why.as_deref(), Some("the plan measures it with mpich-ucx only"));
    }

    #[test]
    fn what_only_emulated_hosts_have_is_not_measured_on_others() {
        let plan = Plan::parse("network = { name = \"lan\", hosts = [\"a\", \"b\"] }", "plan").unwrap();
        let stack = Catalog::load(&[]).unwrap().find("mpich-tcp").unwrap();
        let mut benchmark = Benchmark::of(Program::try_from("bcast".to_string()).unwrap(), Vec::new());
        benchmark.ranks_by_host = vec![1, 1];
        let why = |benchmark: &Benchmark| obstacle(&plan, "lan", benchmark, &stack).unwrap_or_default();
        assert!(why(&benchmark).starts_with("it gives hosts different numbers of ranks"), "{}", why(&benchmark));
        benchmark.schedule = Some("1s r0=10".parse().unwrap());
        assert!(why(&benchmark).starts_with("it has rails change"), "{}", why(&benchmark));
    }
}
