//! Placeholders in descriptions: words in braces.

use std::path::PathBuf;

use super::description::File;

/// Values of the placeholders on one host.
pub struct Words {
    /// `{packages}`: folder of the packages.
    pub packages: PathBuf,
    /// `{work}`: the process's own folder in memory.
    pub work: PathBuf,
    /// `{mount}`: where clients mount the storage.
    pub mount: PathBuf,
    /// `{address}`: of this host.
    pub address: String,
    /// Names and addresses of all servers; `{server}` is the address of the first, `{servers}` are all names.
    pub servers: Vec<(String, String)>,
}

impl Words {
    /// `text` with its words filled in.
    pub fn fill(&self, text: &str) -> String {
        let names: Vec<&str> = self.servers.iter().map(|(name, _)| name.as_str()).collect();
        let first = self.servers.first().map(|(_, address)| address.as_str()).unwrap_or_default();
        text.replace("{packages}", &self.packages.to_string_lossy())
            .replace("{work}", &self.work.to_string_lossy())
            .replace("{mount}", &self.mount.to_string_lossy())
            .replace("{address}", &self.address)
            .replace("{servers}", &names.join(" "))
            .replace("{server}", first)
    }

    /// A file's path and contents.
    pub fn file(&self, file: &File) -> (PathBuf, String) {
        let each = |(name, address): &(String, String)| {
            file.each_server.replace("{each.name}", name).replace("{each.address}", address)
        };
        let each: String = self.servers.iter().map(each).collect();
        (self.fill(&file.path).into(), self.fill(&format!("{}{each}{}", file.text, file.after)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_something_for_each_server() {
        let server = |name: &str, address: &str| (name.to_string(), address.to_string());
        let words = Words {
            packages: "/p".into(),
            work: "/w".into(),
            mount: "/m".into(),
            address: "10.0.0.9".into(),
            servers: vec![server("a", "10.0.0.1"), server("b", "10.0.0.2")],
        };
        let file = File {
            path: "{work}/x".into(),
            text: "{address} {server}\n".into(),
            each_server: "{each.name}={each.address}\n".into(),
            after: "{servers} {mount} {packages}".into(),
        };
        let expected = "10.0.0.9 10.0.0.1\na=10.0.0.1\nb=10.0.0.2\na b /m /p";
        assert_eq!(words.file(&file), ("/w/x".into(), expected.to_string()));
    }
}
