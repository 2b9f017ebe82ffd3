//! Systems of molecules made by formulas, as GROMACS reads them: positions, topology, parameters.
//!
//! Water is SPC/E (Berendsen and others, 1987), polyethylene is of united atoms with the parameters of TraPPE (Martin and
//! Siepmann, 1998), whose ends are CH2 as well.

use std::fmt::Write;

/// Files of a system.
pub struct System {
    /// Positions, in the format GRO.
    pub positions: String,
    /// Molecules and forces.
    pub topology: String,
    /// The quantity to compute.
    pub parameters: String,
}

/// An atom: name of its molecule, number of that, its own name, position in nm.
type Atom = (&'static str, usize, &'static str, [f64; 3]);

/// From one molecule of water to the next, in nm: 0.997 g/cm3.
const WATER_SPACING: f64 = 0.3107;
/// From oxygen to hydrogen, in nm.
const OXYGEN_HYDROGEN: f64 = 0.1;
/// Half of the angle between them, in degrees.
const HALF_WATER_ANGLE: f64 = 109.47 / 2.0;

/// From one chain to the next, in nm: about 0.78 g/cm3.
const CHAIN_SPACING: f64 = 0.48;
/// From one link of a chain to the next, in nm.
const LINK: f64 = 0.154;
/// Half of the angle between links, in degrees.
const HALF_LINK_ANGLE: f64 = 57.0;
/// Room between the end of a chain and the begin of the next, in nm.
const END_SPACING: f64 = 0.45;

/// Molecules on a lattice, as many along each axis as `counts` says, turned evenly in all directions.
pub fn water(counts: [u32; 3]) -> System {
    let [nx, ny, nz] = counts.map(|count| count as usize);
    let mut atoms = Vec::new();
    for number in 0..nx * ny * nz {
        let cell = [number % nx, number / nx % ny, number / (nx * ny)];
        let oxygen = cell.map(|at| (at as f64 + 0.5) * WATER_SPACING);
        atoms.push(("SOL", number + 1, "OW", oxygen));
        for (name, hydrogen) in ["HW1", "HW2"].into_iter().zip(hydrogens(oxygen, number)) {
            atoms.push(("SOL", number + 1, name, hydrogen));
        }
    }
    let size = [nx, ny, nz].map(|count| count as f64 * WATER_SPACING);
    System {
        positions: gro("water", &atoms, size),
        topology: format!("{WATER_TOPOLOGY}\n[ molecules ]\nSOL {}\n", nx * ny * nz),
        parameters: format!("{PARAMETERS}coulombtype = PME\nrcoulomb = 0.9\nrvdw = 0.9\n"),
    }
}

/// Positions of a molecule's hydrogen atoms: its axis points to a place of a spiral over the sphere.
fn hydrogens(oxygen: [f64; 3], number: usize) -> [[f64; 3]; 2] {
    let part = |ratio: f64| (number as f64 * ratio).fract();
    // Two irrational numbers: no two molecules are turned alike, and all directions are as frequent.
    let (cosine, around) = (2.0 * part(0.618_033_988_75) - 1.0, std::f64::consts::TAU * part(0.414_213_562_37));
    let sine = (1.0 - cosine * cosine).sqrt();
    let axis = [sine * around.cos(), sine * around.sin(), cosine];
    let across = [-around.sin(), around.cos(), 0.0];
    let (along, aside) = (HALF_WATER_ANGLE.to_radians().cos(), HALF_WATER_ANGLE.to_radians().sin());
    [1.0, -1.0].map(|way| {
        std::array::from_fn(|at| oxygen[at] + OXYGEN_HYDROGEN * (along * axis[at] + way * aside * across[at]))
    })
}

/// Straight chains side by side: their numbers along x and y, and the links of each, from `sizes`.
pub fn polyethylene(sizes: [u32; 3]) -> System {
    let [nx, ny, links] = sizes.map(|size| size as usize);
    let (rise, aside) = (LINK * HALF_LINK_ANGLE.to_radians().sin(), LINK * HALF_LINK_ANGLE.to_radians().cos());
    let mut atoms = Vec::new();
    for chain in 0..nx * ny {
        let corner = [chain % nx, chain / nx].map(|at| (at as f64 + 0.25) * CHAIN_SPACING);
        for link in 0..links {
            let side = if link % 2 == 0 { 0.0 } else { aside };
            atoms.push(("POL", chain + 1, "C", [corner[0] + side, corner[1], link as f64 * rise]));
        }
    }
    let size =
        [nx as f64 * CHAIN_SPACING, ny as f64 * CHAIN_SPACING, (links.saturating_sub(1)) as f64 * rise + END_SPACING];
    System {
        positions: gro("polyethylene", &atoms, size),
        topology: format!("{}\n[ molecules ]\nPOL {}\n", chain_topology(links), nx * ny),
        parameters: format!("{PARAMETERS}constraints = all-bonds\ncoulombtype = Cut-off\nrcoulomb = 1.2\nrvdw = 1.2\n"),
    }
}

fn gro(title: &str, atoms: &[Atom], size: [f64; 3]) -> String {
    // The format has five digits for numbers, which begin again at 0.
    const NUMBERS: usize = 100_000;
    let mut text = format!("{title}\n{}\n", atoms.len());
    for (index, (molecule, number, name, [x, y, z])) in atoms.iter().enumerate() {
        let (number, index) = (number % NUMBERS, (index + 1) % NUMBERS);
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{number:5}{molecule:<5}{name:>5}{index:5}{x:8.3}{y:8.3}{z:8.3}");
    }
    let [x, y, z] = size;
    text + &format!("{x:10.5}{y:10.5}{z:10.5}\n")
}

/// Parameters of all systems: steps of 2 fs at 300 K, results only at the end.
const PARAMETERS: &str = include_str!("../../stacks/gromacs.mdp");

const WATER_TOPOLOGY: &str = include_str!("../../stacks/water.top");

fn chain_topology(links: usize) -> String {
    let mut text = String::from(
        "[ defaults ]\n1 2 no\n\n[ atomtypes ]\nCH2 14.027 0.0 A 0.395 0.382465\n\n[ moleculetype ]\nPOL 3\n\n[ atoms ]\n",
    );
    let lines = |text: &mut String, title: &str, atoms: usize, parameters: &str| {
        text.push_str(&format!("\n[ {title} ]\n"));
        for first in 1..=(links + 1).saturating_sub(atoms) {
            let numbers: Vec<String> = (first..first + atoms).map(|number| number.to_string()).collect();
            let _ = writeln!(text, "{} {parameters}", numbers.join(" "));
        }
    };
    for number in 1..=links {
        let _ = writeln!(text, "{number} CH2 1 POL C {number} 0.0 14.027");
    }
    lines(&mut text, "bonds", 2, "1 0.154 250000");
    lines(&mut text, "angles", 3, "1 114 519.65");
    lines(&mut text, "dihedrals", 4, "5 5.9038 -1.1339 13.1588 0.0");
    text + "\n[ system ]\npolyethylene\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(system: &System) -> Vec<[f64; 3]> {
        let lines = system.positions.lines().skip(2);
        let number = |line: &str, at: usize| line[at..at + 8].trim().parse().unwrap();
        lines.filter(|line| line.len() == 44).map(|line| [20, 28, 36].map(|at| number(line, at))).collect()
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        (0..3).map(|at| (a[at] - b[at]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn molecules_of_water_have_their_shape() {
        let system = water([3, 2, 2]);
        let atoms = positions(&system);
        assert_eq!(atoms.len(), 36);
        for molecule in atoms.chunks(3) {
            assert!((distance(molecule[0], molecule[1]) - 0.1).abs() < 2e-3);
            assert!((distance(molecule[1], molecule[2]) - 0.1633).abs() < 2e-3);
        }
        assert!(system.topology.ends_with("SOL 12\n"));
        assert!(system.positions.ends_with("   0.93210   0.62140   0.62140\n"), "{}", system.positions);
    }

    #[test]
    fn chains_are_straight_and_apart() {
        let system = polyethylene([2, 2, 5]);
        let atoms = positions(&system);
        assert_eq!(atoms.len(), 20);
        for (at, atom) in atoms.iter().enumerate() {
            for (other_at, other) in atoms.iter().enumerate().skip(at + 1) {
                let apart = distance(*atom, *other);
                match (at / 5 == other_at / 5, other_at - at) {
                    (true, 1) => assert!((apart - LINK).abs() < 2e-3, "{apart}"),
                    (true, _) => assert!(apart > 0.25, "{apart}"),
                    (false, _) => assert!(apart > 0.4, "{apart}"),
                }
            }
        }
        let count = |title: &str| {
            let after = system.topology.split(&format!("[ {title} ]\n")).nth(1).unwrap();
            after.lines().take_while(|line| !line.is_empty()).count()
        };
        assert_eq!([count("atoms"), count("bonds"), count("angles"), count("dihedrals")], [5, 4, 3, 2]);
    }

    #[test]
    fn numbers_begin_again_where_the_format_has_no_room() {
        let system = water([34, 34, 35]);
        assert_eq!(positions(&system).len(), 121_380);
        assert!(
            system.positions.lines().any(|line| line.starts_with("33334SOL    HW1    1 ") || line.contains("HW1    1"))
        );
    }
}
