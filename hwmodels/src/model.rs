//! A model: a chip, a machine with its links, and a software stack, put together.

use ascsim_schedules::Limits;
use serde::Serialize;

use crate::{Catalogue, Kind, Parameter, ParameterId, ProfileError, UnknownParameter, Values};

/// Which profiles make a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// The chip profile; the machine's own if none.
    pub chip: Option<String>,
    /// The machine profile.
    pub machine: String,
    /// The stack profile.
    pub stack: String,
}

impl Default for Selection {
    /// An A3 server of 910C-752T dies with the reference software stack.
    fn default() -> Self {
        Self {
            chip: None,
            machine: "a3-server".to_owned(),
            stack: "cann-9.0-vllm-ascend-0.23".to_owned(),
        }
    }
}

/// The numbers of a chip, a machine and a software stack: every parameter there is, with its range
/// and source. Cost functions read [`Values`] taken from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// The chip profile.
    pub chip: String,
    /// The machine profile.
    pub machine: String,
    /// The stack profile.
    pub stack: String,
    /// The SoC series of the chip: `910_93` (910C), `910b`.
    pub soc: String,
    parameters: Vec<Parameter>,
}

impl Model {
    /// Puts the selected profiles together.
    ///
    /// # Errors
    /// If a profile is missing or incomplete.
    pub fn new(catalogue: &Catalogue, selection: &Selection) -> Result<Self, ProfileError> {
        let by = "the selection";
        catalogue.get(Kind::Machine, &selection.machine, by)?;
        catalogue.get(Kind::Stack, &selection.stack, by)?;
        let machine = catalogue.resolve(&selection.machine)?;
        let stack = catalogue.resolve(&selection.stack)?;
        // `resolve` refuses a machine without a chip, and a chip without a SoC.
        let name = selection.chip.clone().or(machine.chip).unwrap_or_default();
        let by_machine = format!("machine `{}`", machine.name);
        let by = if selection.chip.is_some() {
            by
        } else {
            &by_machine
        };
        catalogue.get(Kind::Chip, &name, by)?;
        let chip = catalogue.resolve(&name)?;
        let mut parameters = Vec::with_capacity(ParameterId::COUNT);
        for id in ParameterId::ALL {
            let parameter = match id.kind() {
                Kind::Chip => chip.parameters.get(id.name()),
                Kind::Machine => machine.parameters.get(id.name()),
                Kind::Stack => stack.parameters.get(id.name()),
                Kind::Link => {
                    let level = id.group().trim_start_matches("link.");
                    let link = machine.links.get(level).map_or("", String::as_str);
                    catalogue.get(Kind::Link, link, &by_machine)?;
                    let link = catalogue.resolve(link)?;
                    let name = format!("link.{}", id.field());
                    parameters.extend(link.parameters.get(&name).cloned());
                    continue;
                }
            };
            // Resolved profiles have every number of their kind.
            parameters.extend(parameter.cloned());
        }
        debug_assert_eq!(parameters.len(), ParameterId::COUNT);
        Ok(Self {
            chip: chip.name,
            machine: machine.name,
            stack: stack.name,
            soc: chip.soc.unwrap_or_default(),
            parameters,
        })
    }

    /// A parameter with its range and source.
    pub fn parameter(&self, id: ParameterId) -> &Parameter {
        // A model has one entry per parameter.
        &self.parameters[id.index()]
    }

    /// The parameter of that name.
    ///
    /// # Errors
    /// If there is no such parameter.
    pub fn parameter_by_name(&self, name: &str) -> Result<&Parameter, UnknownParameter> {
        Ok(self.parameter(UnknownParameter::find(name)?))
    }

    /// All parameters, in order of index.
    pub fn parameters(&self) -> impl Iterator<Item = (ParameterId, &Parameter)> {
        ParameterId::ALL.iter().copied().zip(&self.parameters)
    }

    /// The value of each parameter.
    pub fn values(&self) -> Values {
        Values::new(|id| self.parameter(id).value)
    }

    /// A sample: each parameter at the position `u(id)` (0 to 1) of its distribution
    /// ([`Parameter::quantile`]). The caller brings the random numbers, so that a study decides
    /// what is drawn, and draws it again.
    pub fn sample(&self, mut u: impl FnMut(ParameterId) -> f64) -> Values {
        let mut values = self.values();
        for (id, parameter) in self.parameters() {
            values.set(id, parameter.quantile(u(id)));
        }
        values
    }

    /// What the checker must know of the chip and its runtime.
    pub fn limits(&self) -> Limits {
        let whole = |id| crate::number::whole(self.parameter(id).value);
        let small = |id| u32::try_from(whole(id)).unwrap_or(u32::MAX);
        Limits {
            aic: small(ParameterId::ChipAic),
            aiv: small(ParameterId::ChipAiv),
            aicpu_graphs: small(ParameterId::RuntimeAicpuGraphs),
            queue_tasks: small(ParameterId::RuntimeQueueTasks),
            value_wait_entries: small(ParameterId::RuntimeValueWaitEntries),
            streams: small(ParameterId::RuntimeStreams),
            events: small(ParameterId::RuntimeEvents),
            notifies: small(ParameterId::RuntimeNotifies),
            launch_arguments: small(ParameterId::RuntimeLaunchArguments),
            aicpu_communicator_streams: small(ParameterId::RuntimeCommunicatorStreams),
            aicpu_communicator_notifies: small(ParameterId::RuntimeCommunicatorNotifies),
            l2_bytes: whole(ParameterId::ChipL2Bytes),
        }
    }
}
