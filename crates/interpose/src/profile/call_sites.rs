//! Places in the program that call MPI, and the libraries that they are in.

use std::ffi::c_void;

use fishplate_profile::rank_file::{header, module, site};
use rustc_hash::FxHashMap;

use super::tables::Tables;
use crate::ffi::module_of;

/// Those that are known.
pub struct CallSites {
    tables: Tables,
    /// By call and the address that it returns to.
    rows: FxHashMap<(usize, usize), usize>,
    /// Where each begins in memory.
    modules: Vec<usize>,
}

impl CallSites {
    /// None.
    pub fn new(tables: Tables) -> CallSites {
        CallSites { tables, rows: FxHashMap::default(), modules: Vec::new() }
    }

    /// The row of a place that makes a call: that of all further ones, when the table is full.
    pub fn row(&mut self, call: usize, caller: usize) -> usize {
        if let Some(row) = self.rows.get(&(call, caller)) {
            return *row;
        }
        let used = self.rows.len();
        let row = self.tables.layout.sites + used * site::COLUMNS;
        if used == site::CAPACITY {
            self.tables.add(header::LOST_SITES, 1);
            return row;
        }
        self.tables.set(row + site::CALLER, caller as u64);
        self.tables.set(row + site::CALL, call as u64 + 1);
        self.rows.insert((call, caller), row);
        self.note_module(caller);
        row
    }

    fn note_module(&mut self, caller: usize) {
        let Some(module) = module_of(caller as *const c_void) else { return };
        if self.modules.contains(&module.base) || self.modules.len() == module::CAPACITY {
            return;
        }
        let row = self.tables.layout.modules + self.modules.len() * module::COLUMNS;
        let range = row + module::FILE.start..row + module::FILE.end;
        fishplate_profile::store_text(&self.tables.words[range], &module.file().to_string_lossy());
        self.tables.set(row + module::BASE, module.base as u64);
        self.modules.push(module.base);
    }
}
