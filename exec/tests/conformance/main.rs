//! What facts/acl.md says, as tests: against our emulator, or against the library that
//! `ASCSIM_ACL_LIB` names. A case that needs what probing reports missing is skipped and listed.
//!
//! The cases run one after the other: a library has one state for the whole process.
//! `cargo test -p ascsim-exec --test conformance -- TEXT` runs those with TEXT in their name.

mod capture;
mod event;
mod hazard;
mod lab;
mod memory;
mod runtime;
mod signal;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use ascsim_exec::acl::Capability;
use lab::Lab;

/// A case: its name, the section of facts/acl.md that it states, what it needs, and the body.
type Case = (&'static str, &'static str, &'static [Capability], fn(&Lab));

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let cases: Vec<Case> = [
        runtime::CASES,
        event::CASES,
        signal::CASES,
        memory::CASES,
        capture::CASES,
        hazard::CASES,
    ]
    .concat()
    .into_iter()
    .filter(|(name, ..)| filter.is_none_or(|filter| name.contains(filter.as_str())))
    .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        cases.iter().for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let lab = Lab::open();
    println!(
        "\nrunning {} cases against {}",
        cases.len(),
        lab.acl.library()
    );
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for (name, section, needs, body) in &cases {
        if let Some(missing) = needs.iter().find(|need| !lab.capabilities.has(**need)) {
            println!("case {name} ({section}) ... skipped: no {missing}");
            skipped.push(*name);
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| lab.run(body)));
        println!(
            "case {name} ({section}) ... {}",
            if outcome.is_ok() { "ok" } else { "FAILED" }
        );
        if outcome.is_err() {
            failed.push(*name);
        }
    }
    println!(
        "\nresult: {} passed, {} failed {failed:?}, {} skipped {skipped:?}\n",
        cases.len() - failed.len() - skipped.len(),
        failed.len(),
        skipped.len(),
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(101)
    }
}
