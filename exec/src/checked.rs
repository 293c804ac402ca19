//! The gate: a schedule together with the certificate that admits it.

use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::{Certificate, Schedule};

use crate::backend::DeviceInfo;

/// A schedule that was checked.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'s> {
    schedule: &'s Schedule,
    certificate: &'s Certificate,
}

/// Why a schedule is not run. Nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A certificate of another format.
    #[error(
        "the certificate says `{found}`, this version reads `{}`",
        Certificate::FORMAT
    )]
    Format {
        /// What it says.
        found: String,
    },
    /// The certificate is for another schedule.
    #[error(
        "the certificate is for the structure {certified}, the schedule has {found}; check it again"
    )]
    Structure {
        /// The hash in the certificate.
        certified: String,
        /// The hash of the schedule.
        found: String,
    },
    /// The checker found errors.
    #[error("the checker found {count} error(s), the first by rule {rule}: {message}")]
    Findings {
        /// How many.
        count: usize,
        /// The rule of the first.
        rule: String,
        /// Its message.
        message: String,
    },
    /// The device is of another class than the one it was checked for.
    #[error("it was checked for {certified}, this device is {found}; check it for this device")]
    DeviceClass {
        /// The class in the certificate.
        certified: String,
        /// The name of the chip.
        found: String,
    },
    /// The device has less than was certified.
    #[error("it was checked for {certified} {what}, device {device} has {found}")]
    Resources {
        /// Of what.
        what: &'static str,
        /// The device.
        device: u32,
        /// How many the certificate takes for granted.
        certified: u32,
        /// How many there are.
        found: u32,
    },
}

impl<'s> Checked<'s> {
    /// Admits `schedule` if the certificate is for its structure and holds no error.
    ///
    /// # Errors
    /// [`Refusal::Format`], [`Refusal::Structure`] or [`Refusal::Findings`].
    ///
    /// # Complexity
    /// O(size of the schedule), for its hash.
    pub fn new(schedule: &'s Schedule, certificate: &'s Certificate) -> Result<Self, Refusal> {
        if certificate.format != Certificate::FORMAT {
            return Err(Refusal::Format {
                found: certificate.format.clone(),
            });
        }
        let found = structure_hash(schedule).to_string();
        if certificate.structure != found {
            return Err(Refusal::Structure {
                certified: certificate.structure.clone(),
                found,
            });
        }
        if let Some(first) = certificate.errors().next() {
            return Err(Refusal::Findings {
                count: certificate.errors().count(),
                rule: first.rule.to_string(),
                message: first.message.clone(),
            });
        }
        Ok(Self {
            schedule,
            certificate,
        })
    }

    /// The schedule.
    pub fn schedule(&self) -> &'s Schedule {
        self.schedule
    }

    /// Its certificate.
    pub fn certificate(&self) -> &'s Certificate {
        self.certificate
    }

    /// Refuses a device that is not what was certified. Streams, events and notifies are those that
    /// are free.
    ///
    /// # Errors
    /// [`Refusal::DeviceClass`] or [`Refusal::Resources`].
    pub fn admit(&self, info: &DeviceInfo, uses: &DeviceInfo) -> Result<(), Refusal> {
        let certificate = self.certificate;
        if !info.soc.starts_with(&certificate.device_class) {
            return Err(Refusal::DeviceClass {
                certified: certificate.device_class.clone(),
                found: info.soc.clone(),
            });
        }
        let limits = &certificate.limits;
        for (what, certified, found) in [
            ("cube cores", limits.aic, info.aic),
            ("vector cores", limits.aiv, info.aiv),
            // Others may use streams and events too: what counts is what the schedule needs.
            ("streams", uses.streams, info.streams),
            ("events", uses.events, info.events),
        ] {
            if found < certified {
                return Err(Refusal::Resources {
                    what,
                    device: info.device,
                    certified,
                    found,
                });
            }
        }
        Ok(())
    }
}
