//! All stacks that are known: those that come with the program, then the user's.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::description::{Description, parse};
use super::folders::own_folder;
use super::stack::Stack;
use crate::descriptions;

/// Stacks that come with the program.
const BUILT_IN: [(&str, &str); 4] = [
    ("mpich.toml", include_str!("../../../stacks/mpich.toml")),
    ("openmpi.toml", include_str!("../../../stacks/openmpi.toml")),
    ("impi.toml", include_str!("../../../stacks/impi.toml")),
    ("sockets.toml", include_str!("../../../stacks/sockets.toml")),
];

/// Stacks by name, in the order of their files.
pub struct Catalog {
    described: Vec<(String, Description)>,
}

impl Catalog {
    /// The built-in ones, those in the user's own folder, and those in `given`: files, or folders of them. A later one
    /// takes the place of an earlier one with its name.
    pub fn load(given: &[PathBuf]) -> Result<Catalog> {
        let mut catalog = Catalog { described: Vec::new() };
        for (file, text) in BUILT_IN {
            catalog.add(text, file)?;
        }
        let own = own_folder("stacks");
        for place in own.iter().chain(given) {
            for file in descriptions::files(place)? {
                let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                catalog.add(&text, &file.display().to_string())?;
            }
        }
        Ok(catalog)
    }

    pub fn all(&self) -> Result<Vec<Stack>> {
        self.described.iter().map(|(name, _)| self.find(name)).collect()
    }

    /// The stack called `name`.
    pub fn find(&self, name: &str) -> Result<Stack> {
        let mut description = self.described(name)?.clone();
        let mut way = vec![name.to_string()];
        while let Some(like) = description.like.take() {
            let is_circle = way.contains(&like);
            way.push(like.clone());
            ensure!(!is_circle, "stack {name}: `like` leads in a circle: {}", way.join(", "));
            let base = self.described(&like).with_context(|| format!("stack {name} is like another"))?;
            let next = base.like.clone();
            description = Description { like: next, ..description.over(base) };
        }
        Stack::new(name, description)
    }

    /// For `fishplate run`: the stack `name`, or the one that is `name` with Fishplate.
    pub fn find_with_fishplate(&self, name: &str) -> Result<Stack> {
        let ours = format!("fishplate-{name}");
        let stack = if self.described(&ours).is_ok() { self.find(&ours) } else { self.find(name) }?;
        ensure!(
            stack.fishplate,
            "the stack {name} does not use Fishplate; these do: {}",
            self.names(|stack| stack.fishplate)?
        );
        Ok(stack)
    }

    fn described(&self, name: &str) -> Result<&Description> {
        let found = self.described.iter().find(|(known, _)| known == name);
        let known = || self.described.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        found.map(|(_, description)| description).with_context(|| format!("no stack \"{name}\"; known: {}", known()))
    }

    fn names(&self, wanted: impl Fn(&Stack) -> bool) -> Result<String> {
        let names = self.all()?.into_iter().filter(|stack| wanted(stack)).map(|stack| stack.name);
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    /// Adds a stack that is described elsewhere than in a file of stacks.
    pub fn describe(&mut self, name: &str, described: &serde_json::Value) -> Result<()> {
        let description: Description = serde_json::from_value(described.clone())?;
        description.check()?;
        self.put(name.to_string(), description);
        Ok(())
    }

    fn add(&mut self, text: &str, file: &str) -> Result<()> {
        parse(text, file)?.into_iter().for_each(|(name, description)| self.put(name, description));
        Ok(())
    }

    fn put(&mut self, name: String, description: Description) {
        match self.described.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = description,
            None => self.described.push((name, description)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Catalog {
        let mut catalog = Catalog { described: Vec::new() };
        for (file, text) in BUILT_IN {
            catalog.add(text, file).unwrap();
        }
        catalog.add(text, "my.toml").unwrap();
        catalog
    }

    #[test]
    fn all_that_come_with_the_program_are_sound() {
        let catalog = with("[mine]\nlike = \"openmpi-tcp\"\n");
        let names: Vec<String> = catalog.all().unwrap().into_iter().map(|stack| stack.name).collect();
        for name in ["mpich-tcp", "mpich-ucx", "openmpi-tcp", "impi-tcp", "tcp", "mptcp", "fishplate-mpich", "mine"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn mistakes_are_reported() {
        let error = |catalog: Catalog, name: &str| format!("{:#}", catalog.find(name).unwrap_err());
        let unknown = error(with("[a]\n"), "lam");
        assert!(unknown.contains("no stack \"lam\"") && unknown.contains("mpich-tcp, mpich-ucx"), "{unknown}");
        assert!(error(with("[a]\n"), "a").contains("stack a: `launcher` is missing: hydra"));
        assert!(
            error(with("[a]\nlike = \"b\"\n[b]\nlike = \"a\"\n"), "a").contains("`like` leads in a circle: a, b, a")
        );
        let lost = error(with("[a]\nlike = \"gone\"\n"), "a");
        assert!(lost.contains("stack a is like another: no stack \"gone\""), "{lost}");
    }

    #[test]
    fn names_without_fishplate_in_front_are_enough_to_run_it() {
        let catalog = with("[mine]\nfishplate = true\nlauncher = \"hydra\"\npath = \"/opt/mine\"\n");
        assert_eq!(catalog.find_with_fishplate("openmpi").unwrap().name, "fishplate-openmpi");
        assert_eq!(catalog.find_with_fishplate("mine").unwrap().name, "mine");
        let error = format!("{:#}", catalog.find_with_fishplate("mpich-tcp").err().unwrap());
        assert!(error.contains("does not use Fishplate") && error.contains("fishplate-impi"), "{error}");
    }
}
