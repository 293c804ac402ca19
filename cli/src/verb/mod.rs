//! The verbs, one file each. A verb returns its exit code, or why it failed.

mod anonymise;
mod check;
mod completions;
mod export;
mod generate;
mod hw;
mod import;
mod inspect;
mod replay;
mod report;
mod run;
mod schema;
mod show;
mod what_if;

use crate::args::{Arguments, Verb};
use crate::failure::Failure;

/// Does what the command line asks for.
///
/// # Errors
/// If the input or the request is wrong, or the output cannot be written.
pub(crate) fn run(arguments: Arguments) -> Result<u8, Failure> {
    match arguments.verb {
        Verb::Anonymise(arguments) => anonymise::run(&arguments),
        Verb::WhatIf(arguments) => what_if::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Gen(arguments) => generate::run(&arguments),
        Verb::Inspect(arguments) => inspect::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Hw(what) => hw::run(&what),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Schema { format } => schema::run(format),
        Verb::Completions { shell } => completions::run(shell),
    }
}
