//! Variables, written for shells and for other programs that set them.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::system::programs::shell_quote_always;

/// Reader of the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Every POSIX shell: eval "$(fishplate env)"
    Sh,
    /// csh and tcsh: eval "`fishplate env --format csh`"
    Csh,
    /// fish: fishplate env --format fish | source
    Fish,
    /// Other programs: one object with all names and values
    Json,
    /// Environment Modules and Lmod: a module file
    Modulefile,
    /// Slurm's option --export, of sbatch and srun: srun --export="$(fishplate env --format slurm)"
    Slurm,
}

impl Format {
    /// Whether it can hold a command that loads modules.
    pub fn is_shell(self) -> bool {
        matches!(self, Format::Sh | Format::Csh | Format::Fish)
    }

    /// All `variables`, with a newline at the end. Of a module file this is only what sets them: see `module_file`.
    ///
    /// # Errors
    /// When the format cannot say a value.
    pub fn write(self, variables: &[(String, String)]) -> Result<String> {
        let lines = |line: fn(&str, &str) -> Result<String>| {
            variables.iter().map(|(name, value)| line(name, value)).collect::<Result<String>>()
        };
        match self {
            Format::Sh => lines(|name, value| Ok(format!("export {name}={}\n", shell_quote_always(value)))),
            Format::Csh => lines(csh),
            Format::Fish => lines(|name, value| Ok(format!("set -gx {name} {}\n", fish_quote(value)))),
            Format::Json => {
                let object = variables.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
                Ok(serde_json::to_string_pretty(&serde_json::Value::Object(object))? + "\n")
            }
            Format::Modulefile => lines(|name, value| Ok(format!("setenv {name} {}\n", tcl_quote(value)))),
            Format::Slurm => {
                let words: Result<Vec<String>> =
                    variables.iter().map(|(name, value)| slurm_word(name, value)).collect();
                Ok(format!("ALL,{}\n", words?.join(",")))
            }
        }
    }
}

/// `eval` of csh puts the lines of a command's output beside each other, so each has its end.
fn csh(name: &str, value: &str) -> Result<String> {
    ensure!(
        !value.contains('\n'),
        "{name} has a line break in it, which `eval` of csh takes for a space: use another value, or --format sh"
    );
    // It replaces an exclamation mark even in quotes.
    Ok(format!("setenv {name} {};\n", shell_quote_always(value).replace('!', r"\!")))
}

fn fish_quote(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
}

/// `value` as one word of Tcl.
pub fn tcl_quote(value: &str) -> String {
    let mut quoted = String::from("\"");
    for character in value.chars() {
        match character {
            '\n' => quoted.push_str(r"\n"),
            '\\' | '"' | '$' | '[' | ']' | '{' | '}' => quoted.extend(['\\', character]),
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

/// Slurm parts its list at commas, but for those in quotes, and takes quotes away only around a whole word.
fn slurm_word(name: &str, value: &str) -> Result<String> {
    ensure!(
        !value.contains(['\'', '"']),
        "{name} has a quotation mark in it ({value}), which --export of Slurm cannot say: in the job's script, \
         `eval \"$(fishplate env)\"`"
    );
    let word = format!("{name}={value}");
    Ok(if word.contains(',') { format!("'{word}'") } else { word })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::system::programs;

    const VALUES: [&str; 11] = [
        "plain",
        "two  words ",
        "it's",
        "\"q\" \\ \\\\",
        "$HOME ${HOME} `x` $(x)",
        "[x] {y} } ]",
        "!! a!b",
        "*?~#;&|<>",
        "a,b",
        "\\n \\'",
        "",
    ];

    /// Each value as `shell` prints it, once it has read it in `format`; `None` where it is not installed.
    fn read_back(format: Format, shell: &str, script: &str, values: &[&str]) {
        if programs::find(shell).is_none() {
            eprintln!("skipped, {shell} is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        for value in values {
            std::fs::write(&file, format.write(&[("NAME_1".into(), value.to_string())]).unwrap()).unwrap();
            let script = script.replace("FILE", file.to_str().unwrap());
            let mut command = Command::new(shell);
            let output = programs::run_quietly(command.arg("-c").arg(script).env("HOME", folder.path()), "").unwrap();
            assert_eq!(output, format!("{value}|"), "{shell}");
        }
    }

    #[test]
    fn shells_read_what_was_meant() {
        let with_lines = VALUES.iter().copied().chain(["a\nb", "\n"]).collect::<Vec<_>>();
        read_back(Format::Sh, "sh", r#"eval "$(cat FILE)"; printf '%s|' "$NAME_1""#, &with_lines);
        read_back(Format::Fish, "fish", r#"cat FILE | source; printf '%s|' "$NAME_1""#, &with_lines);
        for shell in ["csh", "tcsh"] {
            // Not its own `echo`, to which some values are options.
            let script = "eval \"`cat FILE`\"; sh -c 'printf \"%s|\" \"$NAME_1\"'";
            read_back(Format::Csh, shell, script, &VALUES);
        }
    }

    #[test]
    fn tcl_reads_what_was_meant() {
        if programs::find("tclsh").is_none() {
            eprintln!("skipped, tclsh is not installed");
            return;
        }
        for value in VALUES.iter().copied().chain(["a\nb"]) {
            let line = Format::Modulefile.write(&[("NAME_1".into(), value.to_string())]).unwrap();
            let script = format!("proc setenv {{name value}} {{ puts -nonewline \"$name=$value|\" }}\n{line}");
            let output = programs::run_quietly(&mut Command::new("tclsh"), &script).unwrap();
            assert_eq!(output, format!("NAME_1={value}|"));
        }
    }

    #[test]
    fn json_is_an_object() {
        let variables: Vec<_> =
            VALUES.iter().enumerate().map(|(i, value)| (format!("N{i}"), value.to_string())).collect();
        let read: serde_json::Value = serde_json::from_str(&Format::Json.write(&variables).unwrap()).unwrap();
        assert!(variables.iter().all(|(name, value)| read[name] == **value), "{read}");
    }

    #[test]
    fn slurm_parts_at_the_right_commas() {
        let variables = [("A", "1"), ("B", "x,y z"), ("C", "a;b")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(Format::Slurm.write(&variables).unwrap(), "ALL,A=1,'B=x,y z',C=a;b\n");
    }

    #[test]
    fn calls_that_a_format_cannot_express_are_reported() {
        let error = |format: Format, value: &str| {
            format.write(&[("FISHPLATE_STATS".into(), value.to_string())]).unwrap_err().to_string()
        };
        let csh = error(Format::Csh, "a\nb");
        assert!(csh.contains("FISHPLATE_STATS has a line break") && csh.contains("--format sh"), "{csh}");
        let slurm = error(Format::Slurm, "/it's");
        assert!(slurm.contains("FISHPLATE_STATS has a quotation mark in it (/it's)"), "{slurm}");
    }
}
