//! Writes the functions that this library exports: one for each MPI call that `fishplate_profile::calls` knows, by its
//! names in C and in Fortran. All they do is to say which one they are.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use fishplate_profile::calls::{self, Call};

/// How an entry hands its number to `enter` (`src/ffi/entry/enter.rs`), in a register that no argument is in.
fn jump(architecture: &str) -> &'static str {
    match architecture {
        "x86_64" => r#""mov eax, {number}", "jmp {enter}""#,
        "aarch64" => r#""mov w9, {number}", "b {enter}""#,
        "riscv64" => r#""li t1, {number}", "tail {enter}""#,
        _ => "",
    }
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let jump = jump(&env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default());
    let table = calls::table();
    let mut text = format!("/// Number of MPI calls.\npub const CALLS: usize = {};\n", table.len());
    for (number, call) in table.iter().enumerate() {
        for (language, name) in names(call).into_iter().enumerate() {
            let entry = number * LANGUAGES + language;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "#[unsafe(naked)]\n#[unsafe(no_mangle)]\nunsafe extern \"C\" fn {name}() {{\n    \
                 naked_asm!({jump}, number = const {entry}, enter = sym enter)\n}}"
            );
        }
    }
    let folder = env::var("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join("entries.rs"), text).expect("the folder of the build can be written to");
}

/// Names of a call; `entry::Language` has the same order.
const LANGUAGES: usize = 5;

/// Fortran's functions with large counts have no names of their own.
fn names(call: &Call) -> Vec<String> {
    let mut names = vec![call.name.clone()];
    if !call.is_large {
        names.extend([call.fortran_name(), call.open_mpi_fortran_name()]);
        names.extend(call.fortran_2008_names());
    }
    names
}
