//! The rules: codes, what they mean, why they matter.

use ascsim_schedules::Severity;
use serde::{Serialize, Serializer};

mod text;

/// What kind of trouble a rule looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleGroup {
    /// Something never ends.
    Deadlock,
    /// The result depends on who is faster.
    Race,
    /// A call that ACL refuses, drops or understands in another way than it reads.
    Acl,
    /// More than the device or its runtime has.
    Limits,
    /// Time given away.
    Waste,
}

impl RuleGroup {
    /// Its name as in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Race => "race",
            Self::Acl => "acl",
            Self::Limits => "limits",
            Self::Waste => "waste",
        }
    }
}

/// What there is to say about a rule, for people.
#[derive(Clone, Copy, Debug)]
pub struct RuleDoc {
    /// Its code, by which options and reports name it.
    pub code: &'static str,
    /// Its group.
    pub group: RuleGroup,
    /// How bad a finding of it is.
    pub severity: Severity,
    /// What it finds, in one line.
    pub title: &'static str,
    /// What happens on the device, where that is known from, and what to do about it.
    pub explanation: &'static str,
    /// What `--fix` does about it; none where it changes nothing.
    pub fix: Option<&'static str>,
}

impl Rule {
    /// What there is to say about it.
    pub fn doc(self) -> &'static RuleDoc {
        text::doc(self)
    }

    /// Its code.
    pub fn code(self) -> &'static str {
        self.doc().code
    }

    /// The rule with this code.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.code() == code)
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

macro_rules! rules {
    ($($name:ident)*) => {
        /// A rule; [`Rule::doc`] says what it means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "every rule has a RuleDoc")]
        pub enum Rule { $($name,)* }

        impl Rule {
            /// All rules, worst group first.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

rules! {
    DeadlockCycle DeadlockQueue DeadlockUnsignalled DeadlockSignal DeadlockCollective
    DeadlockCores DeadlockAivCommunicators DeadlockFusedMoe DeadlockSuperKernel
    RaceAccess RacePrefetch RaceFree RaceReuse RaceUseAfterFree RaceUnknown
    AclWaitUnrecorded AclRefused AclEventReuse AclResetEarly AclHostFunction
    AclCaptureUnjoined AclCaptureForeignWait AclCaptureSync AclCaptureDefaultStream
    AclCaptureBlockingCopy AclCollectiveSize AclSharedExchange AclNoMatmulAllReduce
    LimitStreams LimitEvents LimitNotifies LimitArguments LimitAicpuGraphs LimitAivCores
    LimitFusedRanks
    WasteImpliedWait WasteSameStream WasteRecord WasteDuplicatePrefetch WastePrefetch
    WasteNoOverlap WasteStreamPerLayer WasteIdleStream WasteBlockingCopy WasteAllToAllV
    WasteInPlace WasteLoops WasteLeavesAiv WasteSingleRing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_lead_back_to_their_rule() {
        for &rule in Rule::ALL {
            assert_eq!(Rule::parse(rule.code()), Some(rule));
            let doc = rule.doc();
            let stem = doc.group.name().trim_end_matches('s');
            assert!(doc.code.starts_with(&format!("{stem}-")), "{}", doc.code);
            assert!(
                !doc.title.ends_with('.') && doc.explanation.ends_with('.'),
                "{rule:?}"
            );
        }
        assert_eq!(Rule::parse("nothing"), None);
    }
}
