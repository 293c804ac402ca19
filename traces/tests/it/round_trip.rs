//! What is written reads back equal, in both forms.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ascsim_traces::anonymise::{Drop, anonymise};
use ascsim_traces::model::{Lane, Note};
use ascsim_traces::pair::Links;
use ascsim_traces::write::{Form, WriteError, write};
use ascsim_traces::{Trace, read};
use proptest::prelude::*;

use crate::captures::{T1_LEVEL0, T1_RANK0, T1_RANK1, T2, T2_CLEAN, T4, T7, T9, capture, folder};
use crate::random::{trace, view};

fn again(trace: &Trace, form: Form) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    write(trace, folder.path(), form).unwrap();
    read(folder.path()).unwrap()
}

/// The first row that differs says more than all of them.
fn assert_same(what: &str, wanted: &Trace, found: &Trace) {
    let (wanted, found) = (view(wanted), view(found));
    for (wanted, found) in wanted.iter().zip(&found) {
        assert_eq!(wanted, found, "{what}");
    }
    assert_eq!(wanted.len(), found.len(), "{what}");
}

proptest! {
    #[test]
    fn random_traces_read_back_equal_from_text(seed in any::<u64>(), size in 1_u64..40) {
        let wanted = trace(seed, size, Form::Text);
        assert_same("text", &wanted, &again(&wanted, Form::Text));
    }

    #[test]
    fn random_traces_read_back_equal_from_a_database(seed in any::<u64>(), size in 1_u64..40) {
        let wanted = trace(seed, size, Form::Database);
        assert_same("database", &wanted, &again(&wanted, Form::Database));
    }
}

/// What is known to be missing, and what notes say, besides Python stacks, which nobody writes.
fn lacks(trace: &Trace) -> (Vec<Lane>, Vec<Note>) {
    let missing = trace.missing.iter().map(|missing| missing.lane);
    let notes = trace.notes.iter().filter(|note| {
        !matches!(
            note.code,
            "python-functions-dropped" | "notify-ids-dropped" | "kernel-rows-unmatched"
        )
    });
    (missing.collect(), notes.cloned().collect())
}

#[test]
fn captures_read_back_equal_from_text() {
    for name in [
        T1_RANK0,
        T1_RANK1,
        T1_LEVEL0,
        T4,
        T7,
        T9,
        "matmul-910b3",
        "parser-fixtures",
    ] {
        let Some(wanted) = capture(name) else { return };
        let found = again(&wanted, Form::Text);
        assert_same(name, &wanted, &found);
        assert_eq!(lacks(&wanted), lacks(&found), "{name}");
    }
}

#[test]
fn captures_read_back_equal_from_a_database() {
    for name in [T2, T2_CLEAN] {
        let Some(wanted) = capture(name) else { return };
        let found = again(&wanted, Form::Database);
        assert_same(name, &wanted, &found);
        assert_eq!(lacks(&wanted), lacks(&found), "{name}");
    }
}

/// From one form to the other: what both hold is the same, and with it the schedule.
#[test]
fn a_capture_keeps_its_tasks_and_links_in_the_other_form() {
    for (name, form) in [
        (T1_RANK0, Form::Database),
        (T1_RANK1, Form::Database),
        (T7, Form::Database),
        (T2, Form::Text),
        (T2_CLEAN, Form::Text),
    ] {
        let Some(wanted) = capture(name) else { return };
        let found = again(&wanted, form);
        let tasks = |trace: &Trace| -> Vec<_> {
            let tasks = trace.tasks.iter();
            tasks
                .map(|t| (t.span, t.stream, t.task, t.context, t.kind, t.engine))
                .collect()
        };
        assert_eq!(tasks(&wanted), tasks(&found), "{name}");
        assert_eq!(wanted.epoch_ns, found.epoch_ns);
        let links = |trace: &Trace| {
            let links = Links::of(trace);
            (
                links.events.clone(),
                links.carried.clone(),
                links.host.counts(trace).linked,
            )
        };
        let (wanted_links, found_links) = (links(&wanted), links(&found));
        assert_eq!(wanted_links, found_links, "{name}");
        let planes = |trace: &Trace| -> Vec<_> {
            let planes = trace.planes.iter();
            planes
                .map(|p| (p.notify, p.collective, p.device_task))
                .collect()
        };
        assert_eq!(planes(&wanted), planes(&found), "{name}");
    }
}

#[test]
fn tables_alone_are_no_database() {
    let Some(wanted) = capture(T4) else { return };
    let folder = tempfile::tempdir().unwrap();
    let error = write(&wanted, folder.path(), Form::Database).unwrap_err();
    assert!(matches!(error, WriteError::NoTimeline), "{error}");
    let found = again(&wanted, Form::Text);
    // A timeline would claim to know that nothing ran between the kernels.
    assert!(found.lacks(Lane::Timeline));
}

#[test]
fn an_id_that_a_database_cannot_hold_is_refused() {
    let mut wanted = trace(1, 10, Form::Database);
    wanted.tasks[0].connection = Some(u64::MAX - 1);
    let folder = tempfile::tempdir().unwrap();
    let error = write(&wanted, folder.path(), Form::Database).unwrap_err();
    assert!(matches!(error, WriteError::Range { .. }), "{error}");
}

/// Every byte of every file below `folder`.
fn bytes(folder: &Path, found: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes(&path, found);
        } else {
            found.extend(fs::read(&path).unwrap());
        }
    }
}

#[test]
fn an_anonymous_capture_holds_no_address_path_or_shape_and_replays_alike() {
    for (name, form) in [
        (T1_RANK0, Form::Text),
        (T2, Form::Database),
        (T2_CLEAN, Form::Database),
    ] {
        let Some(original) = capture(name) else {
            return;
        };
        let mut traces = [original.clone()];
        let secret = traces[0]
            .names
            .intern("/home/someone/secret.py(3): forward");
        traces[0].host[0].name = secret;
        traces[0]
            .meta
            .settings
            .push(("MASTER_ADDR".to_owned(), "node17.example".to_owned()));
        let dropped = anonymise(&mut traces, Drop { shapes: true });
        assert_eq!((dropped.paths, dropped.groups), (1, 1), "{name}");
        let shaped = original.details.iter();
        let shaped = shaped.filter(|d| d.input_shapes.is_some() || d.output_shapes.is_some());
        assert_eq!(dropped.shapes, shaped.count(), "{name}");
        let folder = tempfile::tempdir().unwrap();
        write(&traces[0], folder.path(), form).unwrap();
        let mut all = Vec::new();
        bytes(folder.path(), &mut all);
        let group = original.name(original.collectives[0].group_id.unwrap());
        let shapes = original
            .details
            .iter()
            .filter_map(|detail| detail.input_shapes);
        let shape = shapes.max_by_key(|shape| original.name(*shape).len());
        for text in [
            "someone",
            "node17",
            "/home",
            group,
            "90.91.105",
            original.name(shape.unwrap()),
        ] {
            let holds = all.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!holds, "{name}: {text}");
        }
        let found = read(folder.path()).unwrap();
        let times = |trace: &Trace| -> Vec<_> {
            let tasks = trace.tasks.iter();
            tasks
                .map(|t| (t.span, trace.name(t.name).to_owned()))
                .collect()
        };
        assert_eq!(times(&original), times(&found), "{name}");
        assert_eq!(
            Links::of(&original).events,
            Links::of(&found).events,
            "{name}"
        );
    }
}

#[test]
fn groups_keep_their_identity_across_ranks() {
    let Some(root) = folder("ddp-910b-text") else {
        return;
    };
    let mut traces = ascsim_traces::read_all(&root).unwrap();
    let ids = |traces: &[Trace]| -> Vec<Option<String>> {
        let ids = traces.iter().map(|trace| {
            let id = trace.collectives.iter().find_map(|op| op.group_id);
            id.map(|id| trace.name(id).to_owned())
        });
        ids.collect()
    };
    let before = ids(&traces);
    anonymise(&mut traces, Drop::default());
    let after = ids(&traces);
    let mut map: BTreeMap<_, _> = BTreeMap::new();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.is_some(), after.is_some());
        assert_eq!(map.entry(before.clone()).or_insert(after.clone()), after);
    }
    let shaped = |trace: &Trace| trace.details.iter().any(|d| d.input_shapes.is_some());
    assert!(traces.iter().any(shaped), "kept, as nobody asked");
}
