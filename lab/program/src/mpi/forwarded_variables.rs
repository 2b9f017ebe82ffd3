//! The variables that Open MPI forwards to ranks on other hosts, beside those that begin with `OMPI_MCA_`. (Hydra
//! forwards all.)

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use super::interposer::{ADDRESS_SANITIZER, PRELOAD};

/// Open MPI's variable for the names of such variables.
pub const LIST: &str = "OMPI_MCA_mca_base_env_list";

/// Open MPI's option for one of them.
const OPTION: &str = "-x";

/// Names of Open MPI's launchers; some installations add a suffix.
pub const LAUNCHERS: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];
/// Names in their version output; the second if an installation added a suffix.
const NAMES: [&str; 2] = ["Open MPI", "OpenRTE"];

/// The list, with what the user has in it already. Open MPI refuses names that are not set.
pub fn names(variables: &[(String, String)]) -> String {
    let ours = |name: &str| name.starts_with("FI_") || name.starts_with("FISHPLATE_");
    let set = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = set.chain(variables.iter().map(|(name, _)| name.clone())).collect();
    names.retain(|name| ours(name));
    names.extend(
        variables.iter().map(|(name, _)| name.clone()).filter(|name| [PRELOAD, ADDRESS_SANITIZER].contains(&&**name)),
    );
    names.sort();
    names.dedup();
    let users = env::var(LIST).ok().filter(|list| !list.is_empty());
    // `fishplate profile` sets it for `fishplate run`.
    names.retain(|name| users.iter().flat_map(|list| list.split(';')).all(|known| known != name));
    names.extend(users);
    names.join(";")
}

/// Options for the launcher that `command`, behind the words of `prefix`, begins with. Open MPI 4 refuses the list beside
/// such options: where the user gives them, the list's variables are taken out of `variables` and become options too.
pub fn options(prefix: &[String], command: &[OsString], variables: &mut Vec<(String, String)>) -> Vec<OsString> {
    let name = |word: &str| word.split('=').next().unwrap_or(word).to_string();
    let options = command.windows(2).filter(|words| words[0] == OPTION);
    let given: Vec<String> = options.map(|words| name(&words[1].to_string_lossy())).collect();
    if given.is_empty() || !is_launcher(&command[0]) || !is_open_mpi(prefix, &command[0], variables) {
        return Vec::new();
    }
    let list = variables.iter().position(|(name, _)| name == LIST).map(|at| variables.remove(at).1);
    let rest = list.iter().flat_map(|list| list.split(';')).filter(|word| !given.contains(&name(word)));
    rest.flat_map(|word| [OPTION.into(), word.into()]).collect()
}

/// Whether a program is called as launchers of Open MPI are.
fn is_launcher(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)))
}

/// Whether a launcher is Open MPI's; those of other MPIs have no such options, but programs may.
fn is_open_mpi(prefix: &[String], launcher: &OsStr, variables: &[(String, String)]) -> bool {
    let mut line = prefix.iter().map(OsStr::new).chain([launcher, OsStr::new("--version")]);
    let Some(program) = line.next() else { return false };
    let mut command = Command::new(program);
    command.args(line).envs(variables.iter().cloned()).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    output.is_ok_and(|output| NAMES.iter().any(|name| output.contains(name)))
}
