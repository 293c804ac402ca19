//! `ascsim`: simulate, check and run multi-stream schedules for Ascend 910C.
//!
//! This crate parses the command line and prints; each verb has a file of its own in `verb/`.

mod args;
mod failure;
mod hardware;
mod input;
mod output;
mod plan;
mod profile;
mod progress;
mod text;
mod verb;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Arguments;
use crate::failure::{BAD_INPUT, DONE, Failure, OUR_BUG};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version come this way too, and are no failure.
            let code = if error.use_stderr() { BAD_INPUT } else { DONE };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    // A panic is a fault of ours whatever the input: it gets the exit code that says so.
    let result = panic::catch_unwind(AssertUnwindSafe(|| verb::run(arguments)));
    match result {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            report(&failure);
            ExitCode::from(failure.code())
        }
        Err(_) => {
            report(&Failure::Bug(
                "an internal check failed (see above)".to_owned(),
            ));
            ExitCode::from(OUR_BUG)
        }
    }
}

fn report(failure: &Failure) {
    use owo_colors::OwoColorize;
    // anstream leaves the colour out where standard error is no terminal or NO_COLOR is set.
    anstream::eprintln!("{}: {failure}", "error".red().bold());
}
