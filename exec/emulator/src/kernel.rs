//! Kernel binaries of the emulator: text that says how long each kernel takes, what it holds and
//! what it does.
//!
//! The first line is `ascsim-kernels 1`; each other line describes one kernel:
//! `NAME engine=vector duration_ns=1200 host=add`. Engines are `cube`, `vector`, `mix` (two vector
//! cores to a block; `ratio=N` for another number) and `aicpu`. `sync_all` marks a kernel whose
//! blocks wait for each other. `host` names a function given to `ascsimEmulatorRegisterKernel`.

use crate::fault::{Fault, Outcome, code};
use crate::table::Key;
use crate::task::Shape;
use crate::world::World;

/// A loaded binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    kernels: Vec<Kernel>,
}

/// A kernel of a binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kernel {
    name: String,
    pub(crate) duration: u64,
    aic: u32,
    aiv: u32,
    sync_all: bool,
    /// What it does on the host.
    pub(crate) host: Option<String>,
}

/// A function handle: a kernel of a binary.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) binary: Key,
    pub(crate) kernel: Kernel,
}

impl Kernel {
    /// What a launch of `blocks` blocks holds.
    pub(crate) fn shape(&self, blocks: u32, batch: bool) -> Shape {
        Shape {
            tag: 0,
            duration: self.duration,
            aic: self.aic.saturating_mul(blocks),
            aiv: self.aiv.saturating_mul(blocks),
            batch,
            sync_all: self.sync_all,
        }
    }
}

impl Binary {
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let invalid = |what: String| Fault::new(code::PARAM_INVALID, format!("EE1003: {what}"));
        let mut lines = text.lines();
        if lines.next() != Some("ascsim-kernels 1") {
            return Err(invalid(
                "not a kernel binary of the emulator (ascsim-kernels 1)".into(),
            ));
        }
        let mut kernels = Vec::new();
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let mut kernel = Kernel {
                aiv: 1,
                ..Kernel::default()
            };
            kernel.name = words.next().unwrap_or_default().to_owned();
            let mut ratio = 2;
            let mut mixed = false;
            for word in words {
                let (key, value) = word.split_once('=').unwrap_or((word, ""));
                let bad = || {
                    invalid(format!(
                        "`{word}` of kernel {} is not understood",
                        kernel.name
                    ))
                };
                match (key, value) {
                    ("engine", "cube") => (kernel.aic, kernel.aiv) = (1, 0),
                    ("engine", "vector") => (kernel.aic, kernel.aiv) = (0, 1),
                    ("engine", "mix") => mixed = true,
                    ("engine", "aicpu") => (kernel.aic, kernel.aiv) = (0, 0),
                    ("sync_all", "") => kernel.sync_all = true,
                    ("ratio", _) => ratio = value.parse().map_err(|_| bad())?,
                    ("duration_ns", _) => kernel.duration = value.parse().map_err(|_| bad())?,
                    ("host", _) => kernel.host = Some(value.to_owned()),
                    _ => return Err(bad()),
                }
            }
            if mixed {
                (kernel.aic, kernel.aiv) = (1, ratio);
            }
            kernels.push(kernel);
        }
        Ok(Self { kernels })
    }
}

impl World {
    pub(crate) fn function(&mut self, binary: Key, name: &str) -> Outcome<Key> {
        let kernels = &self.binaries.get(binary)?.kernels;
        let kernel = kernels
            .iter()
            .find(|kernel| kernel.name == name)
            .ok_or_else(|| {
                Fault::new(
                    code::PARAM_INVALID,
                    format!("EE1003: the binary has no kernel `{name}`"),
                )
            })?;
        let kernel = kernel.clone();
        Ok(self.functions.insert(Function { binary, kernel }))
    }

    pub(crate) fn unload(&mut self, binary: Key) -> Outcome {
        self.binaries.remove(binary)?;
        let functions: Vec<Key> = self
            .functions
            .iter()
            .filter(|(_, function)| function.binary == binary)
            .map(|(key, _)| key)
            .collect();
        functions
            .into_iter()
            .try_for_each(|key| self.functions.remove(key).map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_describe_their_kernels() {
        let text =
            "ascsim-kernels 1\nadd engine=vector duration_ns=5 host=add\nfa engine=mix sync_all\n";
        let binary = Binary::parse(text).unwrap();
        let add = binary.kernels[0].shape(8, false);
        assert_eq!((add.aic, add.aiv, add.duration), (0, 8, 5));
        let fa = binary.kernels[1].shape(8, true);
        assert_eq!((fa.aic, fa.aiv, fa.sync_all, fa.batch), (8, 16, true, true));
        assert!(Binary::parse("\x7fELF").is_err());
        assert!(Binary::parse("ascsim-kernels 1\na engine=gpu").is_err());
    }
}
