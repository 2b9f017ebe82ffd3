//! The documentation says what the program says.

use std::fs;
use std::path::Path;

use fishplate_rails::settings::VARIABLES;

fn page(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn every_setting_is_documented_as_it_is() {
    let settings = page("docs/settings.md");
    for variable in VARIABLES {
        let row =
            format!("| `{}` | {} | {} | {} |", variable.name, variable.meaning, variable.allowed, variable.default);
        assert!(settings.contains(&row), "docs/settings.md lacks this row:\n{row}");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().flatten().map(|entry| entry.path());
    let pages = docs.chain([root.join("README.md"), root.join("CONTRIBUTING.md")]);
    for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(page.parent().unwrap().join(target).exists(), "{}: {link} is not there", page.display());
        }
    }
}
