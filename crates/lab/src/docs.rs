//! The pages of `docs/`, which are in the program: it is used where the source is not.

use crate::output::nearest;

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its file without the ending.
    pub topic: &'static str,
    /// Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($topic:literal)*) => {
        [$(Page { topic: $topic, text: include_str!(concat!("../../../docs/", $topic, ".md")) }),*]
    };
}

/// All of them, in order of their topics.
pub static PAGES: &[Page] = &pages! {
    "ablation" "apps" "architecture" "bench" "benchmarks" "cluster" "collectives" "compare" "containers" "demo"
    "doctor" "env" "experiments" "explain" "how-it-works" "install" "interpose" "io" "is-it-for-me" "lab" "limits"
    "links" "longbow" "models" "ofi" "one-sided" "performance" "policies" "predict" "profile" "progress" "rails"
    "record" "report" "reproduce" "rpi" "run" "security" "settings" "setup" "shared-memory" "simulate" "simulation"
    "stacks" "stats" "storage" "testbed" "timeouts" "top" "tour" "trace" "validate" "wire"
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
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut topics: Vec<String> = files.filter_map(|file| file.strip_suffix(".md").map(String::from)).collect();
        topics.sort();
        assert_eq!(PAGES.iter().map(|page| page.topic).collect::<Vec<_>>(), topics);
        assert!(PAGES.iter().all(|page| !page.title().is_empty()));
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
