//! `ascsim completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::failure::{DONE, Failure};
use crate::output::Target;

/// Prints the completion script of a shell.
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "ascsim", &mut script);
    Target::Stdout.write(|out| out.write_all(&script))?;
    Ok(DONE)
}
