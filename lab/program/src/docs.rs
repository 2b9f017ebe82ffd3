//! The pages of `docs/`, which are in the program: it is used where the source is not.

use crate::output::nearest;

#[derive(Debug)]
pub struct Page {
    /// Its folder: for whom it is.
    pub folder: &'static str,
    /// Its file without the ending.
    pub topic: &'static str,
    /// Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($folder:literal: $($topic:literal)*;)*) => {
        [$($(Page {
            folder: $folder,
            topic: $topic,
            text: include_str!(concat!("../../../docs/", $folder, "/", $topic, ".md")),
        }),*),*]
    };
}

/// All of them, by folder.
pub static PAGES: &[Page] = &pages! {
    "guide": "bench" "cluster" "compare" "containers" "demo" "doctor" "env" "explain" "install" "is-it-for-me" "lab"
        "limits" "other-programs" "performance" "predict" "profile" "rails" "report" "rpi" "run" "security" "setup" "simulate" "stacks"
        "storage" "testbed" "top" "trace";
    "reference": "apps" "benchmarks" "interpose" "io" "numbers" "ofi" "record" "settings" "stats" "timeouts";
    "papers": "experiments" "models" "reproduce" "validate";
    "internals": "ablation" "architecture" "collectives" "how-it-works" "links" "longbow" "many-ranks" "one-sided" "policies"
        "progress" "shared-memory" "simulation" "tour" "wire";
};

impl Page {
    /// Its first line.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }
}

/// The page of `topic`.
pub fn find(topic: &str) -> Option<&'static Page> {
    let wanted = topic.to_lowercase();
    let wanted = wanted.strip_suffix(".md").unwrap_or(&wanted);
    PAGES.iter().find(|page| page.topic == wanted)
}

/// The topic that is spelled most like `topic`, unless none is near.
pub fn nearest(topic: &str) -> Option<&'static str> {
    nearest::nearest(topic, PAGES.iter().map(|page| page.topic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_here() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let mut files = Vec::new();
        for folder in std::fs::read_dir(docs).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            let folder_name = folder.file_name().into_string().unwrap();
            let names = std::fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap());
            files.extend(names.filter_map(|name| Some((folder_name.clone(), name.strip_suffix(".md")?.to_string()))));
        }
        let mut pages: Vec<_> = PAGES.iter().map(|page| (page.folder.to_string(), page.topic.to_string())).collect();
        files.sort();
        pages.sort();
        assert_eq!(pages, files);
        assert!(PAGES.iter().all(|page| !page.title().is_empty()));
        let topics: std::collections::BTreeSet<_> = PAGES.iter().map(|page| page.topic).collect();
        assert_eq!(topics.len(), PAGES.len(), "two pages of one name");
    }

    #[test]
    fn topics_are_found_and_proposed() {
        assert_eq!(find("Rails.md").map(Page::title), Some("fishplate rails"));
        assert!(find("railz").is_none());
        assert_eq!(nearest("railz"), Some("rails"));
        assert_eq!(nearest("shared_memory"), Some("shared-memory"));
        assert_eq!(nearest("polices"), Some("policies"));
        assert_eq!(nearest("weather"), None);
        assert_eq!(nearest("x"), None);
    }
}
