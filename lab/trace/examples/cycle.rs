//! Writes one iteration of a recorded program's loop to a file: `cycle FOLDER ITERATIONS FILE`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use fishplate_trace::cycle::Cycle;
use fishplate_trace::read;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, iterations, file] = &arguments[..] else { return Err("cycle FOLDER ITERATIONS FILE".into()) };
    let cycle = Cycle::of(&read::folder(&PathBuf::from(folder))?, iterations.parse()?)?;
    let bytes = cycle.encode()?;
    fs::write(file, &bytes)?;
    println!("{file}: {} ranks, {} calls of rank 0, {} bytes", cycle.ranks(), cycle.calls(0).count(), bytes.len());
    Ok(())
}
