//! A module file, for Environment Modules and Lmod.

use std::path::{Path, PathBuf};

use super::environment_format::tcl_quote;
use super::forwarded_variables;
use super::interposer::PRELOAD;

/// Lists of paths, to which a module adds Fishplate's: the user's entries are known only when it is loaded.
const LISTS: [&str; 3] = ["FI_PROVIDER_PATH", PRELOAD, "PATH"];

/// A module that sets `variables`. It omits entries of lists that the caller's environment has, as `inherited` returns it,
/// unless they are in one of the folders `ours`.
pub fn write(variables: &[(String, String)], inherited: impl Fn(&str) -> Option<String>, ours: &[PathBuf]) -> String {
    let title = format!("Fishplate {}: all network rails for MPI programs", env!("CARGO_PKG_VERSION"));
    let mut text = format!("#%Module1.0\nmodule-whatis {}\nconflict fishplate\n", tcl_quote(&title));
    for (name, value) in variables {
        if LISTS.contains(&name.as_str()) {
            let theirs = inherited(name).unwrap_or_default();
            let is_theirs = |part: &str| theirs.split([':', ' ']).any(|other| other == part);
            let is_ours = |part: &str| ours.iter().any(|folder| Path::new(part).starts_with(folder));
            // Tools in front of MPI that the user loads see the program's calls before ours.
            let verb = if name == PRELOAD { "append-path" } else { "prepend-path" };
            for part in value.split(':').filter(|part| is_ours(part) || !is_theirs(part)) {
                text += &format!("{verb} {name} {}\n", tcl_quote(part));
            }
        } else {
            let names = (name == forwarded_variables::LIST).then(|| names(value, variables));
            text += &format!("setenv {name} {}\n", tcl_quote(names.as_ref().unwrap_or(value)));
        }
    }
    text
}

/// The names in `list` that the module sets; others may be unset when it is loaded.
fn names(list: &str, variables: &[(String, String)]) -> String {
    let is_set = |word: &&str| variables.iter().any(|(name, _)| name == word);
    list.split(';').filter(is_set).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_extended_and_other_variables_are_set() {
        let variables = [
            ("FI_PROVIDER_PATH", "/f/lib:/theirs"),
            ("FISHPLATE_RAILS", "a,b"),
            ("LD_PRELOAD", "tool.so:/f/lib/m.so"),
            ("OMPI_MCA_mca_base_env_list", "FI_PROVIDER_PATH;FISHPLATE_TIMEOUT;LD_PRELOAD"),
        ]
        .map(|(name, value)| (name.to_string(), value.to_string()));
        let lines = "prepend-path FI_PROVIDER_PATH \"/f/lib\"
setenv FISHPLATE_RAILS \"a,b\"
append-path LD_PRELOAD \"/f/lib/m.so\"
setenv OMPI_MCA_mca_base_env_list \"FI_PROVIDER_PATH;LD_PRELOAD\"
";
        for theirs in [["/theirs", "tool.so"], ["/f/lib:/theirs", "tool.so /f/lib/m.so"]] {
            let inherited = |name: &str| match name {
                "FI_PROVIDER_PATH" => Some(theirs[0].to_string()),
                PRELOAD => Some(theirs[1].to_string()),
                _ => None,
            };
            let text = write(&variables, inherited, &["/f/lib".into()]);
            assert!(text.starts_with("#%Module1.0\nmodule-whatis \"Fishplate "), "{text}");
            assert!(text.ends_with(&format!("\nconflict fishplate\n{lines}")), "{text}");
        }
    }
}
