//! Settings: `key=value` pairs, separated by commas, from `ASCSIM_EMULATOR` or
//! `ascsimEmulatorConfigure`.

/// What an emulator is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// `clock=real|virtual`. Virtual: time passes only while the host waits, and is exact.
    pub(crate) virtual_clock: bool,
    /// `devices=N`.
    pub(crate) devices: u32,
    /// `aic=N` cube cores of a device.
    pub(crate) aic: u32,
    /// `aiv=N` vector cores of a device.
    pub(crate) aiv: u32,
    /// `depth=N` entries of a stream's queue.
    pub(crate) depth: u32,
    /// `streams=N` of a device.
    pub(crate) streams: u32,
    /// `events=N` event ids of a device.
    pub(crate) events: u32,
    /// `notifies=N` of a device.
    pub(crate) notifies: u32,
    /// `memory=BYTES` of a device.
    pub(crate) memory: u64,
    /// `firmware=full|old`. Old: no stream abort, external records or task update (207000).
    pub(crate) old_firmware: bool,
    /// `soc=NAME`.
    pub(crate) soc: String,
    /// `copy_ns=N` for each copy that no duration was given for.
    pub(crate) copy_ns: u64,
    /// `call_ns=N` of host time for each call (virtual clock only).
    pub(crate) call_ns: u64,
    /// `fail=FUNCTION:N:CODE`: the N-th call of the function (from 1) returns the code.
    pub(crate) fail_calls: Vec<FailCall>,
    /// `fail_task=TAG:CODE`: the tasks with the tag end with the code.
    pub(crate) fail_tasks: Vec<(u64, i32)>,
    /// `hang_task=TAG`: the tasks with the tag never end by themselves.
    pub(crate) hang_tasks: Vec<u64>,
}

/// A call that is to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailCall {
    pub(crate) function: String,
    pub(crate) at: u64,
    pub(crate) code: i32,
}

impl Default for Config {
    /// A 910C package: two dies with the limits of facts/acl.md section 0.
    fn default() -> Self {
        Self {
            virtual_clock: false,
            devices: 2,
            aic: 24,
            aiv: 48,
            depth: 2047,
            streams: 1984,
            events: 65_536,
            notifies: 8192,
            memory: 64 << 30,
            old_firmware: false,
            soc: "Ascend910_9391".into(),
            copy_ns: 0,
            call_ns: 0,
            fail_calls: Vec::new(),
            fail_tasks: Vec::new(),
            hang_tasks: Vec::new(),
        }
    }
}

impl Config {
    /// The defaults changed by `text`.
    ///
    /// # Errors
    /// If a pair is malformed, with what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut config = Self::default();
        for pair in text
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("`{pair}` is not key=value"))?;
            config.set(key, value)?;
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "clock" => self.virtual_clock = choice(key, value, "real", "virtual")?,
            "devices" => self.devices = number(key, value)?,
            "aic" => self.aic = number(key, value)?,
            "aiv" => self.aiv = number(key, value)?,
            "depth" => self.depth = number(key, value)?,
            "streams" => self.streams = number(key, value)?,
            "events" => self.events = number(key, value)?,
            "notifies" => self.notifies = number(key, value)?,
            "memory" => self.memory = number(key, value)?,
            "firmware" => self.old_firmware = choice(key, value, "full", "old")?,
            "soc" => self.soc = value.to_owned(),
            "copy_ns" => self.copy_ns = number(key, value)?,
            "call_ns" => self.call_ns = number(key, value)?,
            "fail" => {
                let [function, at, code] = parts(key, value)?;
                self.fail_calls.push(FailCall {
                    function: function.to_owned(),
                    at: number(key, at)?,
                    code: number(key, code)?,
                });
            }
            "fail_task" => {
                let [tag, code] = parts(key, value)?;
                self.fail_tasks
                    .push((number(key, tag)?, number(key, code)?));
            }
            "hang_task" => self.hang_tasks.push(number(key, value)?),
            _ => return Err(format!("no setting is called `{key}`")),
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("`{value}` is not a number for {key}"))
}

fn choice(key: &str, value: &str, no: &str, yes: &str) -> Result<bool, String> {
    match value {
        _ if value == no => Ok(false),
        _ if value == yes => Ok(true),
        _ => Err(format!("{key} is {no} or {yes}, not `{value}`")),
    }
}

fn parts<'a, const N: usize>(key: &str, value: &'a str) -> Result<[&'a str; N], String> {
    let parts: Vec<&str> = value.split(':').collect();
    parts
        .try_into()
        .map_err(|_| format!("{key} takes {N} parts separated by colons"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_mistakes_named() {
        let config = Config::parse("clock=virtual, aic=20,fail=aclrtMalloc:2:207001").unwrap();
        assert!(config.virtual_clock);
        assert_eq!((config.aic, config.aiv), (20, 48));
        assert_eq!(config.fail_calls[0].at, 2);
        for (text, error) in [
            ("clock=slow", "clock is real or virtual, not `slow`"),
            ("colour=red", "no setting is called `colour`"),
            ("aic", "`aic` is not key=value"),
            ("fail_task=7", "fail_task takes 2 parts separated by colons"),
            ("aic=x", "`x` is not a number for aic"),
        ] {
            assert_eq!(Config::parse(text).unwrap_err(), error);
        }
    }
}
