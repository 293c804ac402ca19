//! The schedules that come with the program.

use std::fs;

use ascsim_schedules::Schedule;
use ascsim_schedules::flat::Flat;
use ascsim_schedules::format::{Encoding, read, write};
use ascsim_sim::{EngineModel, Options, Origin, simulate};
use ascsim_tests::workspace;

fn library() -> Vec<(String, Vec<u8>)> {
    let folder = workspace().join("schedules/library");
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .expect("the library")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn files_are_canonical_and_carry_their_names() {
    let library = library();
    assert!(library.len() >= 2, "{} files", library.len());
    for (name, bytes) in library {
        let schedule: Schedule = read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schedule.name, name);
        let mut written = Vec::new();
        write(&schedule, Encoding::Json, &mut written).expect("a valid schedule");
        assert_eq!(
            String::from_utf8(written).ok(),
            String::from_utf8(bytes).ok(),
            "{name}"
        );
    }
}

/// The makespans of facts/schedules.md C3 without host time: 604 µs serial, 546 µs with overlap.
#[test]
fn the_moe_layers_take_as_long_as_published() {
    let mut found = Vec::new();
    for (name, bytes) in library() {
        let schedule: Schedule = read(&bytes).expect("a valid schedule");
        let flat = Flat::new(&schedule).expect("a valid schedule");
        for engines in [EngineModel::Unlimited, EngineModel::Exclusive] {
            let options = Options {
                engines,
                ..Options::default()
            };
            let simulation = simulate(&flat, &options).expect("no deadlock");
            found.push((name.clone(), simulation.makespan(Origin::Host)));
        }
    }
    let us = |name: &str, us: u64| (name.to_owned(), us * 1_000_000);
    assert_eq!(
        found,
        [
            us("moe-layer-overlap", 546),
            us("moe-layer-overlap", 546),
            us("moe-layer-serial", 604),
            us("moe-layer-serial", 604),
        ],
    );
}
