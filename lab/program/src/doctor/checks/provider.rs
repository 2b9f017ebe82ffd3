//! Whether programs on other hosts find the provider: launchers pass on this host's FI_PROVIDER_PATH.

use std::path::Path;

use crate::doctor::finding::Finding;

const CHECK: &str = "provider";

/// On the host on which one asks: where it is, or why it is nowhere.
pub fn judge_here(host: &str, provider: &Result<std::path::PathBuf, String>) -> Vec<Finding> {
    let Err(why) = provider else { return Vec::new() };
    let to_do =
        "`make` in Fishplate's sources, or install it again: the program's folder and lib/fishplate go together";
    vec![Finding::prevents(CHECK, host, why.clone(), to_do.into())]
}

/// On another one.
pub fn judge_there(host: &str, provider: &Path, is_there: bool) -> Vec<Finding> {
    if is_there {
        return Vec::new();
    }
    let found = format!("{} is not on {host}, and programs started from here look for it there", provider.display());
    let to_do = "install Fishplate in one folder on all hosts, or on a file system of all hosts".to_string();
    vec![Finding::prevents(CHECK, host, found, to_do)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    #[test]
    fn it_has_to_be_at_the_same_place_everywhere() {
        assert!(judge_there("b", Path::new("/opt/x.so"), true).is_empty());
        let missing = judge_there("b", Path::new("/opt/x.so"), false).remove(0);
        assert!(missing.found.starts_with("/opt/x.so is not on b"), "{missing:?}");
        let here = judge_here("a", &Err("the provider is nowhere".into())).remove(0);
        assert_eq!((here.severity, here.found.as_str()), (Severity::Prevents, "the provider is nowhere"));
    }
}
