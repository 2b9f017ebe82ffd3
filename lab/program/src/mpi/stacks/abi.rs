//! Families of MPI libraries that can replace each other in a linked program.

use std::path::PathBuf;

use anyhow::Result;
use serde::Deserialize;

use super::launcher::Launcher;
use super::source::Source;
use super::stack::Stack;

/// A family of MPI libraries with one binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Abi {
    /// MPICH, Intel MPI, MVAPICH and others.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Abi {
    /// The file that programs are linked with.
    pub fn library(self) -> &'static str {
        match self {
            Abi::Mpich => "libmpi.so.12",
            Abi::OpenMpi => "libmpi.so.40",
        }
    }

    /// In words.
    pub fn kind(self) -> &'static str {
        match self {
            Abi::Mpich => "MPICH's kind",
            Abi::OpenMpi => "Open MPI's kind",
        }
    }

    /// The name of one of the family that `fishplate setup` installs.
    pub fn wheels(self) -> &'static str {
        match self {
            Abi::Mpich => "mpich",
            Abi::OpenMpi => "openmpi",
        }
    }
}

impl Launcher {
    /// The family of the MPI that it comes with, where that follows.
    fn abi(self) -> Option<Abi> {
        match self {
            Launcher::Hydra | Launcher::Intel => Some(Abi::Mpich),
            Launcher::OpenMpi => Some(Abi::OpenMpi),
            Launcher::Srun | Launcher::None => None,
        }
    }
}

impl Stack {
    /// The family of its MPI library, where that is known.
    pub fn abi(&self) -> Option<Abi> {
        match &self.source {
            Source::Wheels(wheels) => wheels.launcher.abi(),
            _ => self.launcher.abi(),
        }
    }

    /// Variables with which programs linked with a library of the family `abi` find this stack's. Empty where it comes
    /// with the machine or with modules, which set the path themselves.
    ///
    /// # Errors
    /// When its variables cannot be made.
    pub fn library_path(&self, abi: Abi) -> Result<Option<(String, String)>> {
        const NAME: &str = "LD_LIBRARY_PATH";
        let Some(root) = self.source.root()? else { return Ok(None) };
        let folders: [PathBuf; 2] = ["lib", "lib64"].map(|name| root.join(name));
        let Some(folder) = folders.into_iter().find(|folder| folder.join(abi.library()).exists()) else {
            return Ok(None);
        };
        let own = self.variables(&[], false)?.into_iter().rfind(|(name, _)| name == NAME);
        let own = own.map_or(String::new(), |(_, value)| format!(":{value}"));
        Ok(Some((NAME.into(), format!("{}{own}", folder.display()))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Catalog;
    use super::*;

    #[test]
    fn the_family_follows_from_where_the_library_is_from_or_from_the_launcher() {
        let catalog = Catalog::load(&[]).unwrap();
        let abi = |name: &str| catalog.find(name).unwrap().abi();
        assert_eq!(abi("mpich-tcp"), Some(Abi::Mpich));
        assert_eq!(abi("fishplate-impi"), Some(Abi::Mpich));
        assert_eq!(abi("fishplate-openmpi"), Some(Abi::OpenMpi));
        assert_eq!(abi("tcp"), None);
        let described = |text: &str| Stack::new("a", toml::from_str(text).unwrap()).unwrap();
        assert_eq!(described("launcher = \"srun\"").abi(), None);
        assert_eq!(described("launcher = \"srun\"\nwheels = \"mpich\"").abi(), Some(Abi::Mpich));
        assert_eq!(described("launcher = \"openmpi\"\npath = \"/opt\"").abi(), Some(Abi::OpenMpi));
    }

    #[test]
    fn the_folder_of_the_library_is_reported_where_it_is_there() {
        let root = tempfile::tempdir().unwrap();
        let text = format!(
            "launcher = \"hydra\"\npath = \"{}\"\nenvironment = {{ LD_LIBRARY_PATH = \"/x\" }}",
            root.path().display()
        );
        let stack = Stack::new("a", toml::from_str(&text).unwrap()).unwrap();
        assert_eq!(stack.library_path(Abi::Mpich).unwrap(), None);
        std::fs::create_dir(root.path().join("lib64")).unwrap();
        std::fs::write(root.path().join("lib64/libmpi.so.12"), "").unwrap();
        let value = format!("{}/lib64:/x", root.path().display());
        assert_eq!(stack.library_path(Abi::Mpich).unwrap(), Some(("LD_LIBRARY_PATH".into(), value)));
    }
}
