//! Writes notes about the initialization of MPI in this process (`fishplate_profile::notes`).

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

use fishplate_host::Host;
use fishplate_profile::notes::{BEGAN, Began, Elsewhere, Library, PAST, VARIABLE};

use crate::ffi;
use crate::profile::unique;

struct Notes {
    began: Began,
    /// The note in the folder of a profile, removed once the file of the rank exists.
    of_profile: Option<PathBuf>,
    /// The note for `fishplate run`, which is kept.
    of_run: Option<PathBuf>,
}

static NOTES: OnceLock<Notes> = OnceLock::new();

/// To be called before the first initialization of MPI.
pub fn begin() {
    NOTES.get_or_init(|| {
        let number = |names: &[&str]| names.iter().find_map(|name| env::var(name).ok()?.parse().ok());
        let began = Began {
            host: Some(Host::own().id()),
            rank: number(&["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"]),
            ranks: number(&["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"]),
            program: env::current_exe().unwrap_or_default().to_string_lossy().into_owned(),
            library: None,
            elsewhere: None,
        };
        let leave = |variable: &str| {
            let folder = PathBuf::from(env::var_os(variable).filter(|folder| !folder.is_empty())?);
            let file = folder.join(format!("{}.{BEGAN}", unique()));
            // An error is ignored: the folder may not exist on other hosts.
            fs::write(&file, began.encode()).ok().map(|()| file)
        };
        let (of_profile, of_run) = (leave(fishplate_profile::VARIABLE), leave(VARIABLE));
        Notes { began, of_profile, of_run }
    });
}

/// The result of the initialization is reported once, for the first that succeeds.
static IS_TOLD: Once = Once::new();

/// To be called if the initialization failed.
pub fn has_failed() {
    if IS_TOLD.is_completed() {
        return;
    }
    let notes = NOTES.get().into_iter().flat_map(|notes| notes.of_profile.iter().chain(&notes.of_run));
    notes.for_each(|file| drop(fs::remove_file(file)));
}

/// To be called after the initialization.
pub fn has_begun(is_recorded: bool) {
    IS_TOLD.call_once(|| tell(is_recorded));
}

/// To be called before MPI is finalized, while its connections are open.
pub fn ends() {
    let Some(file) = NOTES.get().and_then(|notes| notes.of_run.as_ref()) else { return };
    let Some(line) = ffi::elsewhere().as_ref().and_then(Elsewhere::encode) else { return };
    // Fails if the run has ended and its note was removed.
    let _ = OpenOptions::new().append(true).open(file).and_then(|mut note| note.write_all(line.as_bytes()));
}

fn tell(is_recorded: bool) {
    let Some(Notes { began, of_profile, of_run }) = NOTES.get() else { return };
    if is_recorded {
        of_profile.iter().for_each(|file| drop(fs::remove_file(file)));
    }
    let stay: Vec<_> = of_profile.iter().filter(|_| !is_recorded).chain(of_run).collect();
    if stay.is_empty() {
        return;
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let library = Library {
        version: ffi::library_version(),
        has_libfabric: maps.contains("/libfabric.so"),
        has_provider: ["/libfishplate-fi.so", "/libfishplate_fi.so"].iter().any(|name| maps.contains(name)),
        fi_provider: env::var("FI_PROVIDER").unwrap_or_default(),
        stats: env::var("FISHPLATE_STATS").unwrap_or_default(),
    };
    let text = Began { library: Some(library), ..began.clone() }.encode();
    stay.iter().for_each(|file| drop(fs::write(file, &text)));
}

/// At the end of a process: notes if it initialized MPI without passing through this library, by PMPI_Init or in a plug-in
/// that binds to its own libraries first. Such a process is not recorded.
pub fn at_exit() {
    let folder =
        env::var_os(fishplate_profile::VARIABLE).filter(|folder| !folder.is_empty() && !IS_TOLD.is_completed());
    let Some(folder) = folder.filter(|_| ffi::is_initialized()) else { return };
    let program = env::current_exe().unwrap_or_default();
    let file = PathBuf::from(folder).join(format!("{}.{PAST}", unique()));
    // An error is ignored: the profile then lacks this explanation.
    let _ = fs::write(file, program.as_os_str().as_encoded_bytes());
}
