//! The provider library: its location, and the variables with which an MPI loads it.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::stacks::cache_folder;
use crate::system::umask::NotForOthers;

/// File name by which libfabric finds the provider.
const PROVIDER: &str = "libfishplate-fi.so";
/// Its file name in cargo's builds.
const PROVIDER_OF_CARGO: &str = "libfishplate_fi.so";

/// Settings of libfabric's cache of registrations: how it learns of freed memory, and its size.
const CACHE_SETTINGS: [&str; 2] = ["FI_MR_CACHE_MONITOR", "FI_MR_CACHE_MAX_COUNT"];

/// Open MPI's choice of a layer of one-sided operations.
pub const ONE_SIDED: &str = "OMPI_MCA_osc";
/// Settings that choose libfabric for it, unless the user has chosen: over UCX, operations would bypass the rails.
const ONE_SIDED_CHOICES: [(&str, &str); 2] = [(ONE_SIDED, "^ucx"), ("OMPI_MCA_osc_rdma_btls", "ofi")];

/// Variables with which an MPI over libfabric loads Fishplate: the first four for MPICH and Intel MPI, the others for
/// Open MPI.
pub fn fishplate() -> Result<Vec<(String, String)>> {
    let pairs = [
        ("FI_PROVIDER_PATH", provider_path()?),
        ("FI_PROVIDER", "fishplate".into()),
        ("MPIR_CVAR_CH4_NETMOD", "ofi".into()),
        // Of a provider that it does not know Intel MPI expects no access to remote memory.
        ("MPIR_CVAR_CH4_OFI_ENABLE_RMA", "1".into()),
        ("OMPI_MCA_pml", "cm".into()),
        ("OMPI_MCA_mtl", "ofi".into()),
        ("OMPI_MCA_mtl_ofi_provider_include", "fishplate".into()),
    ];
    let mut pairs = pairs.map(|(name, value)| (name.to_string(), value)).to_vec();
    // By default libfabric keeps registrations of memory that has been freed; rails over adapters need that it does not.
    if CACHE_SETTINGS.iter().all(|name| env::var_os(name).is_none()) {
        pairs.push(("FI_MR_CACHE_MAX_COUNT".into(), "0".into()));
    }
    let one_sided = ONE_SIDED_CHOICES.into_iter().filter(|(name, _)| env::var_os(name).is_none());
    pairs.extend(one_sided.map(|(name, value)| (name.into(), value.into())));
    Ok(pairs)
}

/// The folder of the provider, in front of what the user has there already.
fn provider_path() -> Result<String> {
    let ours = utf8(provider_folder()?)?;
    match env::var("FI_PROVIDER_PATH") {
        Ok(old) if !old.is_empty() && !old.split(':').any(|folder| folder == ours) => Ok(format!("{ours}:{old}")),
        Ok(old) if !old.is_empty() => Ok(old),
        _ => Ok(ours),
    }
}

pub fn provider_file() -> Result<PathBuf> {
    Ok(provider_folder()?.join(PROVIDER))
}

/// Where the provider is below a prefix: as `make` and packages have it, and as wheels have it, since `pip install
/// --target` leaves out what a wheel has in `lib`.
const FOLDERS: [&str; 2] = ["lib/fishplate", "share/fishplate/lib"];

/// The folder that holds the provider: where packages put it, or beside this program.
pub fn provider_folder() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find this program's own file")?;
    let beside = program.parent().context("this program's own file has no folder")?;
    let installed = FOLDERS.map(|folder| beside.parent().unwrap_or(beside).join(folder));
    if let Some(found) = installed.iter().find(|folder| folder.join(PROVIDER).is_file()) {
        return nameable(found.clone());
    }
    if !beside.join(PROVIDER).is_file() && beside.join(PROVIDER_OF_CARGO).is_file() {
        // A failure shows right below; someone else's link is as good.
        let _ = symlink(PROVIDER_OF_CARGO, beside.join(PROVIDER));
    }
    if beside.join(PROVIDER).is_file() {
        return nameable(beside.to_path_buf());
    }
    Err(anyhow!(
        "the provider {PROVIDER} is neither in {} nor in {}: `make` builds it and puts it there",
        installed[0].display(),
        beside.display()
    ))
}

/// The folder by a name that variables can hold: they separate names by colons, LD_PRELOAD also by blanks, and `$` begins
/// what the dynamic linker puts in. Where the folder has such a name, a link to it in the cache folder has another one, also
/// on other hosts that share that folder.
fn nameable(folder: PathBuf) -> Result<PathBuf> {
    let is_nameable = |path: &Path| !path.to_string_lossy().contains(|c: char| c.is_whitespace() || ":;$".contains(c));
    if is_nameable(&folder) {
        return Ok(folder);
    }
    let links = cache_folder().map(|cache| cache.join("links")).ok().filter(|links| is_nameable(links));
    let linked = links.and_then(|links| {
        let mut hasher = DefaultHasher::new();
        folder.hash(&mut hasher);
        let link = links.join(format!("{:016x}", hasher.finish()));
        let _own = NotForOthers::new();
        fs::create_dir_all(&links).ok()?;
        // It may be there already; another process may make it now.
        let _ = symlink(&folder, &link);
        (fs::read_link(&link).ok()? == folder).then_some(link)
    });
    linked.with_context(|| {
        format!(
            "the libraries are in {}, a name that LD_PRELOAD and FI_PROVIDER_PATH cannot hold (blank, colon, semicolon or \
             dollar), and no link to it can be made in the cache folder: move them",
            folder.display()
        )
    })
}

/// A path as text.
pub fn utf8(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|path| anyhow!("the path {path:?} is not UTF-8"))
}
