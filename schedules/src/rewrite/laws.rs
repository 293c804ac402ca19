//! What holds for every sequence of changes on every schedule.
//!
//! The oracle is the explorer of the ACL model, which visits every run: it shares nothing with the
//! relation by which changes are refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::safety::Twins;
use super::{Change, RewriteError, Undo};
use crate::explore::{Explored, Options};
use crate::flat::{Flat, InstanceId};
use crate::ir::{
    Access, AccessMode, Accesses, Buffer, Extra, Limits, Memory, OpKind, Peer, Range, Schedule,
    Tags,
};
use crate::order::{Order, Point};
use crate::testing::{Fragment, Small, small};
use crate::validate::validate;

/// A small schedule whose kernels, copies and collectives use three buffers, by the numbers in `uses`.
fn with_data(small: &Small, uses: &[u8]) -> Schedule {
    let mut schedule = small.schedule.clone();
    for name in ["x", "y", "z"] {
        schedule.buffers.push(Buffer {
            name: name.into(),
            bytes: 8,
            memory: Memory::Hbm,
            view: None,
            tags: Tags::default(),
            extra: Extra::default(),
        });
    }
    let mut uses = uses.iter().cycle();
    for op in schedule
        .programs
        .iter_mut()
        .flat_map(|program| &mut program.ops)
    {
        let list = match &op.kind {
            OpKind::Kernel(_) | OpKind::Copy(_) | OpKind::Collective(_) => {
                let number = usize::from(uses.next().copied().unwrap_or(0));
                let mode = [AccessMode::Write, AccessMode::Read, AccessMode::ReadWrite][number % 3];
                let access = Access {
                    buffer: ["x", "y", "z"][number / 3 % 3].into(),
                    mode,
                    range: Range::Whole,
                    peer: Peer::Own,
                    extra: Extra::default(),
                };
                op.tags.set("layer", (number / 9 % 3).to_string());
                vec![access]
            }
            _ => Vec::new(),
        };
        op.accesses = Accesses::Known(list);
    }
    schedule
}

/// The text of a change, with numbers reduced to what small schedules have.
fn change(kind: u8, op: u8, other: u8, stream: u8) -> String {
    let (op, other, stream) = (op % 12, other % 12, stream % 5);
    match kind % 14 {
        0 => "drop-redundant-events".to_owned(),
        1 => "merge-records".to_owned(),
        2 => "one-stream".to_owned(),
        3 => "stream-per-layer".to_owned(),
        4 => format!(
            "add-event:from=s{stream},record={},to=s{},wait={}",
            op % 4,
            other % 5,
            other % 3
        ),
        5 => format!("move-to-stream:select=id=op{op},stream=s{stream}"),
        6 => format!("move-wait:select=id=op{op},before=id=op{other}"),
        7 => format!("move-record:select=id=op{op},after=id=op{other}"),
        8 => format!("drop-wait:select=id=op{op}"),
        9 => format!("drop-record:select=id=op{op}"),
        10 => format!("remove:select=id=op{op}"),
        11 => "graph".to_owned(),
        12 => "eager:us=1".to_owned(),
        _ => format!("stream-per-layer:select=stream=s{stream}"),
    }
}

/// Pairs of instances that access the same buffer and not both read, in issue order.
fn conflicts(flat: &Flat<'_>) -> Vec<(InstanceId, InstanceId)> {
    let mut pairs = Vec::new();
    for second in flat.ids() {
        for first in flat.ids().take(second.index()) {
            let (a, b) = (&flat[first], &flat[second]);
            let clash = a.op.accesses.known().iter().any(|one| {
                b.op.accesses
                    .known()
                    .iter()
                    .any(|other| one.buffer == other.buffer && one.mode.conflicts_with(other.mode))
            });
            if a.rank == b.rank && clash {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

fn explored(flat: &Flat<'_>) -> Option<Explored> {
    let options = Options { max_states: 20_000 };
    Explored::new(flat, &Limits::default(), &options).ok()
}

/// Whether every ordered pair of conflicting accesses that is left is ordered after the change, in
/// every run. `None` if a schedule is too large to explore, or hangs.
fn keeps_data_in_order(old: &Schedule, new: &Schedule) -> Result<Option<usize>, String> {
    let before = Flat::new(old).map_err(|error| error.to_string())?;
    let after = Flat::new(new).map_err(|error| error.to_string())?;
    let (Some(runs), Some(new_runs)) = (explored(&before), explored(&after)) else {
        return Ok(None);
    };
    let twins = Twins::new(&before, &after);
    let mut held = 0;
    for (first, second) in conflicts(&before) {
        let (Some(one), Some(two)) = (twins.of(first), twins.of(second)) else {
            continue;
        };
        if runs.happens_before(first, second) && new_runs.ever_starts(two) {
            if !new_runs.happens_before(one, two) {
                return Err(format!("{} < {}", before.path(first), before.path(second)));
            }
            held += 1;
        }
    }
    Ok(Some(held))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Changes in any order are refused or keep data in order, give valid schedules, and are undone.
    #[test]
    fn changes_never_lose_an_order_of_data(
        small in small(Fragment::Confluent, 14, 40),
        uses in vec(any::<u8>(), 1..12),
        changes in vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>()), 1..5),
    ) {
        let original = with_data(&small, &uses);
        let mut schedule = original.clone();
        let mut undo: Vec<(Undo, Schedule)> = Vec::new();
        for (kind, op, other, stream) in changes {
            let text = change(kind, op, other, stream);
            let parsed = Change::parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let new = match parsed.apply(&schedule) {
                Ok(rewritten) => rewritten.schedule,
                Err(RewriteError::Flat(_)) => break,
                Err(error) => {
                    let said = error.to_string();
                    prop_assert!(said.contains('`'), "{text}: {said} names nothing");
                    continue;
                }
            };
            if validate(&schedule).is_ok() {
                prop_assert!(validate(&new).is_ok(), "{text}: {:?}", validate(&new));
            }
            match keeps_data_in_order(&schedule, &new) {
                Ok(_) => {}
                Err(pair) => prop_assert!(false, "{text} loses {pair}"),
            }
            undo.push((Undo::new(&schedule, &new), schedule));
            schedule = new;
        }
        for (undo, before) in undo.into_iter().rev() {
            let back = undo.apply(&schedule);
            prop_assert_eq!(&back, &before);
            schedule = back;
        }
        prop_assert_eq!(schedule, original);
    }

    /// What is left after redundant events are dropped, or records merged, is ordered exactly as
    /// before: no pair is lost, none is gained.
    #[test]
    fn dropped_and_merged_events_change_no_order(
        small in small(Fragment::Confluent, 24, 60),
        uses in vec(any::<u8>(), 1..12),
    ) {
        let schedule = with_data(&small, &uses);
        for text in ["drop-redundant-events", "merge-records"] {
            let Ok(change) = Change::parse(text) else { continue };
            let Ok(rewritten) = change.apply(&schedule) else { continue };
            let before = Flat::new(&schedule).unwrap();
            let after = Flat::new(&rewritten.schedule).unwrap();
            let limits = super::safety::no_queues();
            let (old, new) = (Order::new(&before, &limits), Order::new(&after, &limits));
            if !old.inexact().is_empty() || old.stuck().is_some() {
                continue;
            }
            let twins = Twins::new(&before, &after);
            let is_work = |id: &InstanceId| {
                let kind = &before[*id].op.kind;
                !matches!(kind, OpKind::Record(_) | OpKind::Wait(_))
            };
            for first in before.ids().filter(is_work) {
                for second in before.ids().filter(is_work) {
                    let (Some(one), Some(two)) = (twins.of(first), twins.of(second)) else {
                        continue;
                    };
                    prop_assert_eq!(
                        old.happens_before(first, second),
                        new.happens_before(one, two),
                        "{}: {} and {}", text, before.path(first), before.path(second)
                    );
                }
            }
            for id in before.ids().filter(is_work) {
                if let Some(twin) = twins.of(id) {
                    prop_assert!(new.can_happen(Point::done(twin)), "{text}: {}", before.path(id));
                }
            }
        }
    }
}

/// The laws are about something: random changes drop events, are refused for races, and keep pairs.
#[test]
fn the_laws_meet_what_they_are_about() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = (
        small(Fragment::Confluent, 14, 40),
        vec(any::<u8>(), 1..12),
        any::<[u8; 4]>(),
    );
    let (mut dropped, mut races, mut held, mut applied) = (0, 0, 0, [0; 14]);
    for _ in 0..3_000 {
        let (small, uses, [kind, op, other, stream]) =
            strategy.new_tree(&mut runner).unwrap().current();
        let schedule = with_data(&small, &uses);
        let change = Change::parse(&change(kind, op, other, stream)).unwrap();
        match change.apply(&schedule) {
            Ok(rewritten) => {
                applied[usize::from(kind) % 14] += usize::from(rewritten.schedule != schedule);
                if kind % 14 == 0 {
                    dropped += rewritten.touched;
                }
                if kind % 3 == 0 {
                    held += keeps_data_in_order(&schedule, &rewritten.schedule)
                        .unwrap()
                        .unwrap_or(0);
                }
            }
            Err(RewriteError::Race { .. }) => races += 1,
            Err(_) => {}
        }
    }
    assert!(
        dropped > 50 && races > 2 && held > 100,
        "{dropped} {races} {held}"
    );
    assert!(applied.iter().all(|count| *count > 1), "{applied:?}");
}
