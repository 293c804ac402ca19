//! Times of instances that may change between two runs of one program.

/// The times of every instance of a program, in ps. Start from
/// [`Compiled::times`](crate::Compiled::times) and change what differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub(crate) duration: Vec<u64>,
    pub(crate) issue: Vec<u64>,
    pub(crate) delay: Vec<u64>,
    /// The sum of all of them, which bounds every clock of a run.
    total: u128,
}

/// Which of an instance's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeField {
    /// How long the device task runs once nothing holds it; the transfer of a collective; the host
    /// time of a host op besides waiting.
    Duration,
    /// Host time of the call that issues a device task.
    Issue,
    /// How much later than derived it starts.
    Delay,
}

impl TimeField {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Issue => "issue time",
            Self::Delay => "delay",
        }
    }
}

impl Times {
    pub(crate) fn push(&mut self, duration: u64, issue: u64, delay: u64) {
        self.duration.push(duration);
        self.issue.push(issue);
        self.delay.push(delay);
        self.total += u128::from(duration) + u128::from(issue) + u128::from(delay);
    }

    /// Number of instances.
    pub fn len(&self) -> usize {
        self.duration.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.duration.is_empty()
    }

    fn field(&mut self, field: TimeField) -> &mut Vec<u64> {
        match field {
            TimeField::Duration => &mut self.duration,
            TimeField::Issue => &mut self.issue,
            TimeField::Delay => &mut self.delay,
        }
    }

    /// A time of an instance in ps; none if there is no such instance.
    pub fn get(&self, field: TimeField, instance: u32) -> Option<u64> {
        let list = match field {
            TimeField::Duration => &self.duration,
            TimeField::Issue => &self.issue,
            TimeField::Delay => &self.delay,
        };
        list.get(instance as usize).copied()
    }

    /// Sets a time of an instance to `ps`, and returns the time it had; none, and nothing is
    /// changed, if there is no such instance.
    pub fn set(&mut self, field: TimeField, instance: u32, ps: u64) -> Option<u64> {
        let slot = self.field(field).get_mut(instance as usize)?;
        let before = std::mem::replace(slot, ps);
        self.total = self.total - u128::from(before) + u128::from(ps);
        Some(before)
    }

    /// The sum of all times in ps.
    pub fn total(&self) -> u128 {
        self.total
    }
}
