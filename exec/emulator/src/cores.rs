//! Cores: the blocks of kernels take them as they become free, and give them back.

use crate::engine::{Due, Run};
use crate::table::Key;
use crate::task::Shape;
use crate::world::World;

/// A unit of blocks: cores that start together. `units` of them make up a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units {
    units: u32,
    aic: u32,
    aiv: u32,
}

impl Units {
    /// Splits the cores of a kernel, none of which may exceed those of the device.
    fn of(shape: &Shape, aic: u32, aiv: u32) -> Self {
        let (aic, aiv) = (shape.aic.min(aic), shape.aiv.min(aiv));
        match (aic, aiv) {
            (0, 0) => Self { units: 0, aic, aiv },
            (0, units) => Self {
                units,
                aic: 0,
                aiv: 1,
            },
            (units, 0) => Self {
                units,
                aic: 1,
                aiv: 0,
            },
            (units, _) if aiv % units == 0 => Self {
                units,
                aic: 1,
                aiv: aiv / units,
            },
            // No even split: all cores together.
            _ => Self { units: 1, aic, aiv },
        }
    }
}

impl World {
    pub(crate) fn start_kernel(&mut self, key: Key, shape: &Shape) {
        let units = Units::of(shape, self.config.aic, self.config.aiv).units;
        if units == 0 {
            if shape.duration == 0 {
                return self.end(key, Ok(()));
            }
            self.hold(key);
            return self.timer(shape.duration, key, Due::End);
        }
        if let Some(stream) = self.streams.find(key) {
            stream.run = Run::Blocks {
                waiting: units,
                running: 0,
            };
        }
    }

    /// Gives free cores to the blocks of the kernel at the head. Whether it took any.
    pub(crate) fn grant(&mut self, key: Key, shape: &Shape) -> bool {
        let cores = Units::of(shape, self.config.aic, self.config.aiv);
        let (now, timeout) = (self.now, self.kernel_timeout);
        let Some(stream) = self.streams.find(key) else {
            return false;
        };
        let Run::Blocks { waiting, running } = stream.run else {
            return false;
        };
        let device = &mut self.devices[stream.device as usize];
        let fit = |free: u32, each: u32| free.checked_div(each).unwrap_or(u32::MAX);
        let most = fit(device.free_aic, cores.aic)
            .min(fit(device.free_aiv, cores.aiv))
            .min(waiting);
        if most == 0 || (shape.batch && most < waiting) {
            return false;
        }
        let taken = [most * cores.aic, most * cores.aiv];
        device.take(taken);
        stream.held = [stream.held[0] + taken[0], stream.held[1] + taken[1]];
        if waiting == cores.units {
            stream.started = now;
        }
        let (waiting, running) = (waiting - most, running + most);
        stream.run = Run::Blocks { waiting, running };
        if waiting == 0 && (shape.sync_all || running == cores.units) {
            stream.run = Run::Running;
        }
        if shape.sync_all {
            if waiting == 0 {
                self.timer(shape.duration, key, Due::Units(running));
            } else if running == most {
                self.timer(timeout, key, Due::KernelTimeout);
            }
        } else {
            self.timer(shape.duration, key, Due::Units(most));
        }
        true
    }

    pub(crate) fn end_units(&mut self, key: Key, count: u32) {
        let (aic, aiv) = (self.config.aic, self.config.aiv);
        let Some(stream) = self.streams.find(key) else {
            return;
        };
        let Some(shape) = stream.queue.front().map(|task| task.shape) else {
            return;
        };
        let cores = Units::of(&shape, aic, aiv);
        let device = &mut self.devices[stream.device as usize];
        let last = match &mut stream.run {
            Run::Blocks { waiting, running } => {
                *running -= count;
                *waiting == 0 && *running == 0
            }
            // All blocks started together.
            _ => true,
        };
        let freed = [count * cores.aic, count * cores.aiv];
        device.give(freed);
        stream.held = [stream.held[0] - freed[0], stream.held[1] - freed[1]];
        if last {
            stream.run = Run::Idle;
            self.end(key, Ok(()));
        }
    }

    /// Takes the cores of a collective, all at once.
    pub(crate) fn take_cores(&mut self, key: Key, shape: &Shape) -> bool {
        let cores = [
            shape.aic.min(self.config.aic),
            shape.aiv.min(self.config.aiv),
        ];
        let Some(stream) = self.streams.find(key) else {
            return false;
        };
        let device = &mut self.devices[stream.device as usize];
        if device.free_aic < cores[0] || device.free_aiv < cores[1] {
            return false;
        }
        device.take(cores);
        stream.held = cores;
        true
    }

    /// Gives back what the head of the stream holds.
    pub(crate) fn release(&mut self, key: Key) {
        let Some(stream) = self.streams.find(key) else {
            return;
        };
        let held = std::mem::take(&mut stream.held);
        self.devices[stream.device as usize].give(held);
        stream.run = Run::Idle;
    }
}
