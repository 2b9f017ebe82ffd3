//! Making the inputs of an application.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::description::{Application, Made};
use super::formula::{self, System};

/// The last line of LAMMPS' benchmark scripts, and its replacement with a variable for the steps.
const RUN: (&str, &str) = ("run 100", "run ${steps}");

/// Runs the application with these words in this folder.
pub type Start<'a> = dyn Fn(&[&str], &Path) -> Result<String> + 'a;

impl Application {
    /// Makes all of its inputs.
    ///
    /// # Errors
    /// With the input that cannot be made, and why.
    pub fn make_inputs(&'static self, start: &Start) -> Result<()> {
        let folder = self.inputs_folder()?;
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove the old {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        for (name, input) in &self.inputs {
            let made = match &input.made {
                Made::Script(script) => self.make_script(&folder, name, script),
                Made::Water(counts) => make_system(&folder, name, &formula::water(*counts), start),
                Made::Polyethylene(sizes) => make_system(&folder, name, &formula::polyethylene(*sizes), start),
            };
            made.with_context(|| format!("cannot make the input {name} of {}", self.name))?;
        }
        self.stamp_inputs()
    }

    fn make_script(&'static self, folder: &Path, name: &str, script: &str) -> Result<()> {
        let file = self.in_packages(&self.folder)?.join(script);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = with_steps(&text).with_context(|| format!("{} has no line `{}`", file.display(), RUN.0))?;
        write(folder, &format!("in.{name}"), &text)
    }
}

/// A script whose variable has the number of steps.
fn with_steps(script: &str) -> Option<String> {
    let mut found = false;
    let line = |line: &str| {
        let runs = line.split_whitespace().eq(RUN.0.split(' '));
        found |= runs;
        format!("{}\n", if runs { RUN.1 } else { line })
    };
    let text: String = script.lines().map(line).collect();
    found.then_some(text)
}

fn make_system(folder: &Path, name: &str, system: &System, start: &Start) -> Result<()> {
    let files = ["gro", "top", "mdp", "tpr", "out.mdp"].map(|ending| format!("{name}.{ending}"));
    let [positions, topology, parameters, result, output] = &files;
    write(folder, positions, &system.positions)?;
    write(folder, topology, &system.topology)?;
    write(folder, parameters, &system.parameters)?;
    let words = ["grompp", "-c", positions, "-p", topology, "-f", parameters, "-o", result, "-po", output];
    start(&words, folder)?;
    Ok(())
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let file = folder.join(name);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_scripts_can_be_chosen() {
        assert_eq!(with_steps("units lj\nrun\t\t100\n").unwrap(), "units lj\nrun ${steps}\n");
        assert_eq!(with_steps("run 1000\n"), None);
    }
}
