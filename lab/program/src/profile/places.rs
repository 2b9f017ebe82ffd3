//! Function, source file and line of the addresses at which a program calls MPI.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use addr2line::Loader;
use fishplate_profile::read::Module;

use super::schema::Place;

/// Length of the start of an ELF file up to its type: 3 for position independent programs and libraries.
const ELF_HEAD: usize = 18;
const POSITION_INDEPENDENT: u16 = 3;

/// Places that were found, each once.
#[derive(Default)]
pub struct Places {
    /// In the order in which they were found.
    pub all: Vec<Place>,
    position: HashMap<Place, usize>,
    by_address: HashMap<(String, u64), usize>,
    modules: HashMap<String, Symbols>,
}

/// Symbol information about a program or library.
struct Symbols {
    /// Addresses in memory are those of the file, plus where it was loaded.
    is_moved: bool,
    /// `None` if the file cannot be read on this host.
    loader: Option<Loader>,
}

impl Places {
    /// The place of a call that returns to `caller`, in a process with these modules in memory.
    pub fn find(&mut self, caller: u64, modules: &[Module]) -> usize {
        // The call is before what it returns to, which can be another line.
        let address = caller.saturating_sub(1);
        let module = modules.iter().filter(|module| module.base <= address).max_by_key(|module| module.base);
        let Some(module) = module else { return self.put(Place { offset: caller, ..Place::default() }) };
        let symbols = self.modules.entry(module.file.clone()).or_insert_with(|| Symbols::open(Path::new(&module.file)));
        let offset = if symbols.is_moved { address - module.base } else { address };
        let key = (module.file.clone(), offset);
        if let Some(known) = self.by_address.get(&key) {
            return *known;
        }
        let place = symbols.place(&module.file, offset);
        let position = self.put(place);
        self.by_address.insert(key, position);
        position
    }

    /// Calls on one line of a program are one place.
    fn put(&mut self, place: Place) -> usize {
        let key = if place.line.is_some() { Place { offset: 0, ..place.clone() } } else { place.clone() };
        *self.position.entry(key).or_insert_with(|| {
            self.all.push(place);
            self.all.len() - 1
        })
    }
}

impl Symbols {
    fn open(file: &Path) -> Symbols {
        let mut head = [0; ELF_HEAD];
        let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
        let kind = u16::from_le_bytes([head[16], head[17]]);
        // Most are; and an offset is of more use where nothing is known.
        let is_moved = read.is_err() || kind == POSITION_INDEPENDENT;
        Symbols { is_moved, loader: Loader::new(file).ok() }
    }

    fn place(&self, module: &str, offset: u64) -> Place {
        let mut place = Place { module: module.to_string(), offset, ..Place::default() };
        let Some(loader) = &self.loader else { return place };
        if let Ok(mut frames) = loader.find_frames(offset)
            && let Ok(Some(frame)) = frames.next()
        {
            place.function = frame.function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
            place.file = frame.location.as_ref().and_then(|location| location.file).map(String::from);
            place.line = frame.location.as_ref().and_then(|location| location.line);
        }
        let symbol = || loader.find_symbol(offset).map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
        place.function = place.function.or_else(symbol);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This program is one with debug information.
    #[test]
    fn a_place_in_this_program() {
        let file = std::env::current_exe().unwrap().to_str().unwrap().to_string();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let first = maps.lines().find(|line| line.ends_with(&file)).unwrap();
        let base = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
        let mut places = Places::default();
        let modules = [Module { base, file }];
        let address = a_place_in_this_program as fn() as usize as u64;
        let found = places.find(address + 2, &modules);
        let place = places.all[found].clone();
        assert!(place.short().starts_with("places.rs:"), "{place:?}");
        assert!(place.function.unwrap().contains("a_place_in_this_program"));
        assert_eq!((places.find(address + 2, &modules), places.all.len()), (found, 1));
    }

    #[test]
    fn unreadable_memory_is_reported_by_its_address() {
        let mut places = Places::default();
        let modules =
            [Module { base: 0x1000, file: "/gone/libx.so".into() }, Module { base: 0x9000, file: "/y".into() }];
        let short = |places: &mut Places, caller| {
            let place = places.find(caller, &modules);
            places.all[place].short()
        };
        assert_eq!(short(&mut places, 0x1235), "libx.so+0x234");
        assert_eq!(short(&mut places, 0x10), "0x10");
    }
}
