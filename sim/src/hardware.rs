//! A hardware model as the options of a simulation.

use ascsim_hwmodels::launch::{self, Call, Signal};
use ascsim_hwmodels::superkernel::part_sync;
use ascsim_hwmodels::{Model, ParameterId as P, Reader, Values};

use crate::attribute::clean_gaps;
use crate::costs::{EngineModel, HostCosts, Latencies, Options, TaskKind};
use crate::load::Die;

impl Options {
    /// How schedules run on the machine and software stack of `model`: kernels share cores and
    /// bandwidth, ops without a duration take what the model says, and host calls, signals and gaps
    /// cost what the stack's profile says. Ops that state such times keep them.
    pub fn on(model: &Model) -> Self {
        Self {
            limits: model.limits(),
            ..Self::with_hardware(&model.values())
        }
    }

    /// As [`Options::on`], with other values of the model's parameters; queue limits are the default.
    pub fn with_hardware(values: &Values) -> Self {
        let r = Reader::new(values);
        let mut gaps = clean_gaps(&r);
        gaps.set(TaskKind::Part, TaskKind::Part, part_sync(false, &r));
        let host = |call| launch::host(call, &r);
        let count = |id| u32::try_from(r.whole(id)).unwrap_or(u32::MAX);
        Self {
            engines: EngineModel::Shared,
            die: Die {
                cores: [
                    count(P::ChipAic),
                    count(P::ChipAiv),
                    count(P::ChipAicpu),
                    count(P::ChipSdmaChannels),
                ],
                bytes_per_s: [
                    r.get(P::ChipHbm),
                    r.get(P::ChipL2),
                    r.get(P::LinkServer),
                    r.get(P::ChipCmo),
                ],
                shared_cmo_bytes_per_s: r.get(P::ChipCmoShared),
                l2_bytes: r.whole(P::ChipL2Bytes),
            },
            host: HostCosts {
                launch: host(Call::Kernel),
                collective: host(Call::Collective),
                copy: host(Call::Copy),
                signal: host(Call::Event),
                graph: host(Call::GraphLaunch),
                update: host(Call::TaskUpdate),
                synchronise: host(Call::Synchronise),
            },
            latencies: Latencies {
                launch: launch::issue(&r),
                event: launch::latency(Signal::Event, &r),
                notify: launch::latency(Signal::Notify, &r),
                value: launch::latency(Signal::Value, &r),
            },
            gaps,
            hardware: Some(values.clone()),
            ..Self::default()
        }
    }
}
