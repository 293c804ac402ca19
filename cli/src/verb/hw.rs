//! `ascsim hw`.

use std::fmt::Display;

use serde::Serialize;

use crate::args::Hw;
use crate::failure::{DONE, Failure};
use crate::hardware;
use crate::output::{Target, write_json};

/// Lists profiles, shows one, or compares two.
pub(crate) fn run(what: &Hw) -> Result<u8, Failure> {
    let mut catalogue = hardware::catalogue()?;
    match what {
        Hw::List { json } => print(&catalogue.list(), *json),
        Hw::Show { profile, json } => {
            let name = hardware::add(&mut catalogue, profile)?;
            print(&catalogue.show(&name).map_err(Failure::input)?, *json)
        }
        Hw::Diff { a, b, json } => {
            let a = hardware::add(&mut catalogue, a)?;
            let b = hardware::add(&mut catalogue, b)?;
            print(&catalogue.diff(&a, &b).map_err(Failure::input)?, *json)
        }
    }
}

fn print(result: &(impl Display + Serialize), json: bool) -> Result<u8, Failure> {
    Target::Stdout.write(|out| match json {
        true => write_json(out, result),
        false => write!(out, "{result}"),
    })?;
    Ok(DONE)
}
