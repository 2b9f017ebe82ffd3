//! The lists of packages that apt has: how old they are.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// Folder of apt's lists.
const FOLDER: &str = "/var/lib/apt/lists";
const DAY_S: u64 = 86_400;

/// Short description of their state.
pub fn state() -> String {
    state_in(Path::new(FOLDER), SystemTime::now())
}

fn state_in(folder: &Path, now: SystemTime) -> String {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let lists = files.filter(|file| file.file_name().to_string_lossy().contains("_Packages"));
    // Servers tell when a list was made; when it was fetched is when its place in the folder was last changed.
    let fetched = lists.count() > 0;
    let changed = fs::metadata(folder).and_then(|data| data.modified()).ok().filter(|_| fetched);
    let age = changed.map(|changed| now.duration_since(changed).unwrap_or_default().as_secs() / DAY_S);
    match age {
        None => "apt has no lists of packages: `apt-get update`, as root, fetches them".into(),
        Some(0) => "apt's lists of packages are of the last 24 hours".into(),
        Some(days) => format!(
            "apt's lists of packages are {days} day{} old: `apt-get update`, as root, fetches new ones",
            if days == 1 { "" } else { "s" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn lists_have_an_age() {
        let folder = tempfile::tempdir().unwrap();
        let after = |days: u64| state_in(folder.path(), SystemTime::now() + Duration::from_secs(days * DAY_S));
        fs::create_dir(folder.path().join("partial")).unwrap();
        assert!(after(0).starts_with("apt has no lists of packages: "));
        fs::write(folder.path().join("deb.debian.org_debian_dists_bookworm_main_binary-amd64_Packages.lz4"), "")
            .unwrap();
        assert_eq!(after(0), "apt's lists of packages are of the last 24 hours");
        assert!(after(1).starts_with("apt's lists of packages are 1 day old: "));
        assert!(after(30).starts_with("apt's lists of packages are 30 days old: "));
        assert!(state_in(Path::new("/no/such"), SystemTime::now()).starts_with("apt has no lists"));
    }
}
