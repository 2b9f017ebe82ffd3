//! Records call sites of MPI, and the modules that contain them.

use std::ffi::c_void;

use fishplate_profile::rank_file::{header, module, site};
use rustc_hash::FxHashMap;

use super::tables::Tables;
use crate::ffi::module_of;

/// The call sites recorded so far.
pub struct CallSites {
    tables: Tables,
    /// Rows by call and return address.
    rows: FxHashMap<(usize, usize), usize>,
    /// Load addresses of the modules recorded.
    modules: Vec<usize>,
}

impl CallSites {
    pub fn new(tables: Tables) -> CallSites {
        CallSites { tables, rows: FxHashMap::default(), modules: Vec::new() }
    }

    /// The row of a call site. If the table is full, the row shared by all further call sites.
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
