//! Which ops share a stream: one for all, or one for each layer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::catalogue::{ChangeDoc, KeyDoc};
use super::edit::{
    Insertions, Names, declare_stream, has_work, is_signal, main_stream, positions,
    prune_overrides, record, recorded, unfit, unfit_flat, usual_issue, wait, waited,
};
use super::safety::no_queues;
use super::{Change, Note, RewriteError, Rewritten};
use crate::flat::Flat;
use crate::ir::{
    EventName, HostKind, Op, OpId, OpKind, Owner, Program, Schedule, StreamName, SyncTarget,
};
use crate::order::{Order, Point};
use crate::select::Selector;

pub(super) const ONE_STREAM: ChangeDoc = ChangeDoc {
    name: "one-stream",
    summary: "issue everything to one stream",
    keys: &[KeyDoc {
        name: "stream",
        required: false,
        meaning: "the stream; default that with the most ops; a captured program takes its origin",
    }],
    details: "What multi-stream gains is seen by taking it away. Ops keep their issue order, which \
              becomes the order in which they run. Records and waits of `ex` events that are used by \
              this program alone go; what the host synchronised with is redirected to the stream. \
              Refused where a wait would stand before what it waits for, naming the op. Collectives \
              keep their order, which every rank must share.",
    example: "one-stream",
    parse: |keys| {
        Ok(Change::OneStream {
            stream: keys.get("stream").map(Into::into),
        })
    },
};

pub(super) const PER_LAYER: ChangeDoc = ChangeDoc {
    name: "stream-per-layer",
    summary: "give the side-stream ops of every layer a stream of their own",
    keys: &[KeyDoc {
        name: "select",
        required: false,
        meaning: "selector of the ops; default all that are not on the stream with the most ops",
    }],
    details: "Needs the tag `layer` on every selected op. The stream `NAME.LAYER` is declared for each \
              layer. Where the old stream kept two ops in order that are on different streams now, an \
              event does: what happened before what still does. It shows the harm of many streams (events, \
              host time; vllm-ascend issue 3667); it cannot model that a capture runs out of streams, \
              which `ascsim check` counts.",
    example: "stream-per-layer:select=stream=shared",
    parse: |keys| {
        Ok(Change::StreamPerLayer {
            select: keys.optional_selector("select")?,
        })
    },
};

/// Puts all device ops of every program on one stream.
pub(super) fn one_stream(
    schedule: &Schedule,
    stream: Option<&StreamName>,
) -> Result<Rewritten, RewriteError> {
    let to = match stream {
        Some(stream) => stream.clone(),
        None => busiest(schedule),
    };
    let mut result = schedule.clone();
    let used = users(schedule);
    let mut touched = 0;
    for (program, new) in schedule.programs.iter().zip(&mut result.programs) {
        let to = program
            .capture
            .as_ref()
            .map_or(&to, |capture| &capture.origin);
        let own = |op: &Op| {
            let event = recorded(op).or_else(|| waited(op));
            event.is_some_and(|event| used.get(event) == Some(&1)) && !is_external(op)
        };
        let synchronised: BTreeSet<&EventName> = program
            .ops
            .iter()
            .filter_map(|op| match &op.kind {
                OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) => Some(event),
                _ => None,
            })
            .collect();
        new.ops.retain(|op| {
            let kept = recorded(op).is_some_and(|event| synchronised.contains(event));
            kept || !own(op)
        });
        for op in &mut new.ops {
            match &mut op.kind {
                OpKind::Host(HostKind::Synchronise(SyncTarget::Stream(stream))) => {
                    touched += usize::from(stream != to);
                    stream.clone_from(to);
                }
                _ => {
                    if let Some(stream) = op.stream.as_mut() {
                        touched += usize::from(stream != to);
                        stream.clone_from(to);
                    }
                }
            }
        }
    }
    declare_stream(&mut result, &to);
    prune_overrides(&mut result);
    refuse_stuck(schedule, &result)?;
    Ok(Rewritten {
        schedule: result,
        touched,
        notes: Vec::new(),
    })
}

/// Refuses where an op can never be done after the change that could be before.
fn refuse_stuck(old: &Schedule, new: &Schedule) -> Result<(), RewriteError> {
    let flat = Flat::new(new).map_err(unfit_flat)?;
    let order = Order::new(&flat, &no_queues());
    let Some(stuck) = flat.ids().find(|&id| !order.can_happen(Point::done(id))) else {
        return Ok(());
    };
    let before = Flat::new(old).map_err(unfit_flat)?;
    if Order::new(&before, &no_queues()).stuck().is_some() {
        return Ok(());
    }
    let instance = &flat.instances()[stuck.index()];
    let why = "on one stream it would stand before what it waits for, and hang";
    Err(unfit(instance.program, instance.op, why))
}

fn is_external(op: &Op) -> bool {
    match &op.kind {
        OpKind::Record(record) => record.external,
        OpKind::Wait(wait) => wait.external,
        _ => false,
    }
}

/// In how many programs each `ex` event is recorded or waited for, and nothing else is done with it.
fn users(schedule: &Schedule) -> HashMap<&EventName, usize> {
    let mut used: HashMap<&EventName, usize> = schedule
        .events
        .iter()
        .filter(|event| event.kind.is_ex())
        .map(|event| (&event.name, 0))
        .collect();
    for program in &schedule.programs {
        let mine: BTreeSet<&EventName> = program
            .ops
            .iter()
            .filter_map(|op| recorded(op).or_else(|| waited(op)))
            .collect();
        for event in mine {
            if let Some(count) = used.get_mut(event) {
                *count += 1;
            }
        }
        for op in &program.ops {
            if let OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) = &op.kind
                && !mine_records(program, event)
            {
                used.remove(event);
            }
        }
    }
    used
}

fn mine_records(program: &Program, event: &EventName) -> bool {
    program.ops.iter().any(|op| recorded(op) == Some(event))
}

/// The stream of the schedule with the most device ops; of several, the first by name.
fn busiest(schedule: &Schedule) -> StreamName {
    let mut count: BTreeMap<&StreamName, usize> = BTreeMap::new();
    let ops = schedule
        .programs
        .iter()
        .filter(|program| program.capture.is_none());
    for stream in ops
        .flat_map(|program| &program.ops)
        .filter_map(|op| op.stream.as_ref())
    {
        *count.entry(stream).or_default() += 1;
    }
    let most = count.values().max().copied().unwrap_or(0);
    count
        .into_iter()
        .find(|(_, ops)| *ops == most)
        .map_or_else(|| "main".into(), |(stream, _)| stream.clone())
}

/// Moves the side-stream ops of each layer to a stream of their own, with events in the place of the
/// stream's order.
pub(super) fn per_layer(
    schedule: &Schedule,
    select: Option<&Selector>,
) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    let mut touched = 0;
    let mut streams: BTreeSet<StreamName> = BTreeSet::new();
    for (index, program) in schedule.programs.iter().enumerate() {
        let Some(main) = main_stream(program) else {
            continue;
        };
        let selected: BTreeSet<usize> = match select {
            Some(select) => positions(program, select, |op| has_work(op) && op.stream.is_some()),
            None => {
                let on_side = |op: &Op| op.stream.as_ref().is_some_and(|stream| *stream != main);
                let ops = program.ops.iter().enumerate();
                ops.filter(|(_, op)| has_work(op) && on_side(op))
                    .map(|(at, _)| at)
                    .collect()
            }
        }
        .into_iter()
        .collect();
        if selected.is_empty() {
            continue;
        }
        touched += selected.len();
        let (new, made) = split(&mut result, program, &selected)?;
        streams.extend(made);
        result.programs[index].ops = new;
    }
    if touched == 0 {
        return Err(RewriteError::NothingSelected {
            selector: select.map_or_else(|| "ops on a side stream".to_owned(), ToString::to_string),
            what: "op on a side stream",
        });
    }
    for stream in &streams {
        declare_stream(&mut result, stream);
    }
    let count = result
        .streams
        .iter()
        .filter(|stream| stream.owner == Owner::Own)
        .count();
    let notes = vec![Note::warning(format!(
        "the schedule has {count} streams now; a device has 2,048 of which about 1,800 are usable, and \
         every captured graph takes its own (facts/schedules.md C2)"
    ))];
    Ok(Rewritten {
        schedule: result,
        touched,
        notes,
    })
}

/// The ops of `program` with the selected ones, and the event ops in front of and behind them, on the
/// streams of their layers.
fn split(
    schedule: &mut Schedule,
    program: &Program,
    selected: &BTreeSet<usize>,
) -> Result<(Vec<Op>, BTreeSet<StreamName>), RewriteError> {
    let mut ops = program.ops.clone();
    let mut made = BTreeSet::new();
    // The stream that each op goes to; event ops go with the selected op that they serve.
    let mut by_stream: BTreeMap<StreamName, Vec<usize>> = BTreeMap::new();
    for (at, op) in program.ops.iter().enumerate() {
        if let Some(stream) = op.stream.as_ref().filter(|_| op.is_device()) {
            by_stream.entry(stream.clone()).or_default().push(at);
        }
    }
    let issue = usual_issue(program, is_signal).map(Box::new);
    let mut names = Names::new(schedule, program);
    let mut insertions = Insertions::default();
    for (stream, tasks) in &by_stream {
        if !tasks.iter().any(|at| selected.contains(at)) {
            continue;
        }
        let layer_of = |at: usize| -> Result<Option<String>, RewriteError> {
            if !selected.contains(&at) {
                return Ok(None);
            }
            let op = &program.ops[at];
            let layer = op.tags.get("layer").ok_or_else(|| {
                unfit(
                    program,
                    op,
                    "it has no tag `layer`, so its stream is not known",
                )
            })?;
            Ok(Some(layer.to_owned()))
        };
        for &at in tasks {
            if let Some(layer) = layer_of(at)? {
                let to: StreamName = format!("{stream}.{layer}").into();
                ops[at].stream = Some(to.clone());
                made.insert(to);
            }
        }
        // Waits go with the op after them, records with the op before them.
        for (place, &at) in tasks.iter().enumerate() {
            let served = if waited(&program.ops[at]).is_some() {
                tasks[place..]
                    .iter()
                    .find(|at| waited(&program.ops[**at]).is_none())
            } else if recorded(&program.ops[at]).is_some() {
                tasks[..place]
                    .iter()
                    .rfind(|at| recorded(&program.ops[**at]).is_none())
            } else {
                None
            };
            if let Some(&served) = served.filter(|at| selected.contains(at)) {
                let to = ops[served].stream.clone();
                ops[at].stream = to;
            }
        }
        // An event where neighbours of the old stream are on different ones now.
        for pair in tasks.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if ops[before].stream == ops[after].stream {
                continue;
            }
            let event = names.event(schedule, &format!("keep.{}", ops[after].id));
            let mut signal = record(&mut names, &event, &ops[before]);
            signal.issue.clone_from(&issue);
            insertions.after(before, signal);
            let mut blocked = wait(&mut names, &event, &ops[after]);
            blocked.issue.clone_from(&issue);
            insertions.before(after, blocked);
        }
        // What the host waited for.
        redirect_syncs(
            &mut ops,
            &program.ops,
            stream,
            tasks,
            &mut insertions,
            &mut names,
        );
    }
    Ok((insertions.apply(ops), made))
}

/// A synchronisation with the old stream waits for the stream of the last op issued to it before.
fn redirect_syncs(
    ops: &mut [Op],
    old: &[Op],
    stream: &StreamName,
    tasks: &[usize],
    insertions: &mut Insertions,
    names: &mut Names,
) {
    for (at, op) in old.iter().enumerate() {
        let OpKind::Host(HostKind::Synchronise(SyncTarget::Stream(target))) = &op.kind else {
            continue;
        };
        if target != stream {
            continue;
        }
        let last = tasks[..tasks.partition_point(|task| *task < at)].last();
        if let Some(to) = last.and_then(|last| ops[*last].stream.clone())
            && to != *stream
        {
            // Both: other programs may have used the old stream.
            let mut second = op.clone();
            second.id = names.op(&format!("{}.{to}", op.id));
            second.kind = OpKind::Host(HostKind::Synchronise(SyncTarget::Stream(to)));
            insertions.after(at, second);
        }
    }
}

pub(super) const ADD_EVENT: ChangeDoc = ChangeDoc {
    name: "add-event",
    summary: "let the J-th op of a stream wait for the K-th op of another one",
    keys: &[
        KeyDoc {
            name: "from",
            required: true,
            meaning: "the stream that records",
        },
        KeyDoc {
            name: "record",
            required: true,
            meaning: "after which of its ops, counted from 1; 0 adds no event",
        },
        KeyDoc {
            name: "to",
            required: true,
            meaning: "the stream that waits",
        },
        KeyDoc {
            name: "wait",
            required: true,
            meaning: "before which of its ops, counted from 1; 0 adds no event",
        },
        KeyDoc {
            name: "program",
            required: false,
            meaning: "the program; default the first that has ops on both streams",
        },
    ],
    details: "Kernels, copies and collectives of the stream are counted in issue order. If the record \
              would be issued after the wait, the ops of its stream up to it are issued earlier, just \
              before the wait; refused where they in turn wait for something issued later, naming the \
              op. Made for sweeps: `--sweep record=1..3 --sweep wait=1..3` finds where an event helps \
              (facts/schedules.md B7).",
    example: "add-event:from=S0,record=1,to=S1,wait=1",
    parse: |keys| {
        Ok(Change::AddEvent(AddEvent {
            from: keys.text("from")?.into(),
            record: keys.whole("record")?,
            to: keys.text("to")?.into(),
            wait: keys.whole("wait")?,
            program: keys.get("program").map(ToOwned::to_owned),
        }))
    },
};

/// An event between two streams.
#[derive(Clone, Debug)]
pub struct AddEvent {
    /// The stream that records.
    pub from: StreamName,
    /// After which of its ops, counted from 1; 0 for no event.
    pub record: usize,
    /// The stream that waits.
    pub to: StreamName,
    /// Before which of its ops, counted from 1; 0 for no event.
    pub wait: usize,
    /// The program; the first that has ops on both streams without it.
    pub program: Option<String>,
}

/// Adds the event.
pub(super) fn add_event(schedule: &Schedule, change: &AddEvent) -> Result<Rewritten, RewriteError> {
    let mut result = schedule.clone();
    if change.record == 0 || change.wait == 0 {
        return Ok(Rewritten {
            schedule: result,
            touched: 0,
            notes: Vec::new(),
        });
    }
    let tasks = |program: &Program, stream: &StreamName| -> Vec<usize> {
        let ops = program.ops.iter().enumerate();
        ops.filter(|(_, op)| has_work(op) && op.stream.as_ref() == Some(stream))
            .map(|(at, _)| at)
            .collect()
    };
    let found = schedule.programs.iter().position(|program| {
        change
            .program
            .as_ref()
            .is_none_or(|name| program.name.as_str() == name)
            && !tasks(program, &change.from).is_empty()
            && !tasks(program, &change.to).is_empty()
    });
    let nothing = |stream: &StreamName, number: usize| RewriteError::NothingSelected {
        selector: format!("op {number} of stream {stream}"),
        what: "op with work",
    };
    let index = found.ok_or_else(|| nothing(&change.from, change.record))?;
    let program = &schedule.programs[index];
    let (recording, waiting) = (tasks(program, &change.from), tasks(program, &change.to));
    let &fork = recording
        .get(change.record - 1)
        .ok_or_else(|| nothing(&change.from, change.record))?;
    let &join = waiting
        .get(change.wait - 1)
        .ok_or_else(|| nothing(&change.to, change.wait))?;
    let mut names = Names::new(schedule, program);
    let event = names.event(&mut result, "added");
    let issue = usual_issue(program, is_signal).map(Box::new);
    let mut signal = record(&mut names, &event, &program.ops[fork]);
    let mut blocked = wait(&mut names, &event, &program.ops[join]);
    signal.issue.clone_from(&issue);
    blocked.issue = issue;
    // What is issued earlier: the stream of the record up to it.
    let earlier: Vec<usize> = (join..=fork)
        .filter(|at| program.ops[*at].stream.as_ref() == Some(&change.from))
        .collect();
    refuse_early(program, join, &earlier)?;
    let moved: BTreeSet<usize> = earlier.iter().copied().collect();
    let mut ops: Vec<Op> = Vec::with_capacity(program.ops.len() + 2);
    for (at, op) in program.ops.iter().enumerate() {
        if at == join {
            ops.extend(earlier.iter().map(|&at| program.ops[at].clone()));
            if !moved.is_empty() {
                ops.push(signal.clone());
            }
            ops.push(blocked.clone());
        }
        if !moved.contains(&at) {
            ops.push(op.clone());
        }
        if at == fork && moved.is_empty() {
            ops.push(signal.clone());
        }
    }
    result.programs[index].ops = ops;
    Ok(Rewritten {
        schedule: result,
        touched: 1,
        notes: Vec::new(),
    })
}

/// Refuses to issue ops earlier than a record that one of them waits for, or another thread's call.
fn refuse_early(program: &Program, to: usize, earlier: &[usize]) -> Result<(), RewriteError> {
    let passed: BTreeSet<usize> = earlier.iter().copied().collect();
    let between = |at: usize| (to..at).filter(|at| !passed.contains(at));
    for &at in earlier {
        let op = &program.ops[at];
        let why =
            |other: &OpId| format!("it would be issued before `{other}`, which must come first");
        for other in between(at).map(|other| &program.ops[other]) {
            let tied = match (&op.kind, &other.kind) {
                (OpKind::Wait(wait), OpKind::Record(record)) => wait.event == record.event,
                (OpKind::Record(record), OpKind::Wait(wait)) => wait.event == record.event,
                (OpKind::Record(a), OpKind::Record(b)) => a.event == b.event,
                (_, OpKind::Host(_)) => true,
                _ => op.comm.is_some() && other.comm.is_some(),
            };
            if tied || op.thread != other.thread {
                return Err(unfit(program, op, why(&other.id)));
            }
        }
    }
    Ok(())
}
