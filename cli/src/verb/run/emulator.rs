//! The emulator of devices: where its library is, and what it is to emulate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ascsim_exec::acl::Acl;
use ascsim_schedules::Certificate;

use crate::failure::Failure;

const LIBRARY: &str = "libascsim_emulator.so";

/// Opens the emulator. Unless `ASCSIM_EMULATOR` says otherwise, its devices are those of one server
/// of the class and with the cores that the certificate names, and its clock is exact.
///
/// # Errors
/// If there is no library, or it does not take the settings.
pub(super) fn open(library: Option<&Path>, certificate: &Certificate) -> Result<Arc<Acl>, Failure> {
    let library = match library {
        Some(library) => library.to_owned(),
        None => find()?,
    };
    let acl = super::open(Some(library.as_os_str()))?;
    if !acl.is_emulator() {
        let why = format!("{} is not the emulator of ascsim", library.display());
        return Err(Failure::Input(why));
    }
    if std::env::var_os("ASCSIM_EMULATOR").is_none() {
        let limits = &certificate.limits;
        let mut settings = format!(
            "clock=virtual,devices=16,aic={},aiv={}",
            limits.aic, limits.aiv
        );
        if !certificate.device_class.is_empty() {
            settings = format!("{settings},soc={}", certificate.device_class);
        }
        acl.emulator_configure(&settings).map_err(Failure::input)?;
    }
    Ok(acl)
}

/// The library beside the program: in its folder, in the folder where cargo leaves it, or in the
/// `lib` folder of an installation.
fn find() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().map_err(Failure::input)?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(LIBRARY),
        folder.join("deps").join(LIBRARY),
        folder.join("../lib").join(LIBRARY),
    ];
    let found = places.iter().find(|place| place.is_file()).cloned();
    found.ok_or_else(|| {
        Failure::Input(format!(
            "there is no {LIBRARY} in {} or the lib folder beside it; build it (cargo build \
             --release --workspace) and put it there, or name it with --library",
            folder.display(),
        ))
    })
}
