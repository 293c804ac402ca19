//! Exports read back to the same ns.

use std::collections::BTreeMap;

use ascsim_report::export::{self, Format, Named};
use ascsim_schedules::library;
use ascsim_sim::Options;
use ascsim_studies::{LaneKind, LinkKind, StepTimeline};
use proptest::prelude::*;

use super::any_step;

fn written(format: Format, step: &StepTimeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    let named = Named {
        name: "after",
        step,
    };
    export::write(
        format,
        named,
        Some(Named {
            name: "before",
            step,
        }),
        &mut bytes,
    )
    .expect("memory takes all");
    bytes
}

fn example() -> StepTimeline {
    let schedule = library::moe_layer().expect("the example reads");
    StepTimeline::new(&schedule, &Options::default()).expect("it runs")
}

/// Lane, start, end and name of each row of some lanes.
type Rows = Vec<(u64, i64, i64, String)>;

fn rows(step: &StepTimeline, on_host: bool) -> Rows {
    let chosen = step
        .rows
        .iter()
        .filter(|row| (step.lanes[row.lane as usize].kind == LaneKind::Thread) == on_host);
    let mut rows: Rows = chosen
        .map(|row| {
            let name = step.text(row.name).to_owned();
            (u64::from(row.lane), row.start_ns, row.end_ns, name)
        })
        .collect();
    rows.sort();
    rows
}

fn chrome_reads_back(step: &StepTimeline) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace_view.json");
    std::fs::write(&file, written(Format::Chrome, step)).expect("it is written");
    let trace = ascsim_traces::read(&file).expect("our reader takes it");
    let at = |ns: i64| ns + trace.epoch_ns;
    let mut tasks: Rows = trace
        .tasks
        .iter()
        .map(|task| {
            let name = trace.name(task.name).to_owned();
            (
                u64::from(task.stream),
                at(task.span.start),
                at(task.span.end),
                name,
            )
        })
        .collect();
    tasks.sort();
    assert_eq!(tasks, rows(step, false));
    let mut calls: Rows = trace
        .host
        .iter()
        .map(|call| {
            let name = trace.name(call.name).to_owned();
            (call.thread, at(call.span.start), at(call.span.end), name)
        })
        .collect();
    calls.sort();
    assert_eq!(calls, rows(step, true));
}

/// A field of a protobuf message: a number, or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message by the wire format alone, without our types.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a message ends after a field");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(number.try_into().expect("8 bytes")))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner)
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn messages<'a>(of: &[(u64, Field<'a>)], tag: u64) -> Vec<&'a [u8]> {
    let bytes = of.iter().filter(|(number, _)| *number == tag);
    let bytes = bytes.filter_map(|(_, field)| match field {
        Field::Bytes(bytes) => Some(*bytes),
        Field::Number(_) => None,
    });
    bytes.collect()
}

fn numbers(of: &[(u64, Field<'_>)], tag: u64) -> Vec<u64> {
    let numbers = of.iter().filter(|(number, _)| *number == tag);
    let numbers = numbers.filter_map(|(_, field)| match field {
        Field::Number(number) => Some(*number),
        Field::Bytes(_) => None,
    });
    numbers.collect()
}

fn number(of: &[(u64, Field<'_>)], tag: u64) -> u64 {
    numbers(of, tag).first().copied().unwrap_or(0)
}

/// Field numbers are those of the public schema: `trace_packet.proto`, `track_event.proto`,
/// `track_descriptor.proto`, `interned_data.proto`.
fn perfetto_reads_back(step: &StepTimeline) {
    let bytes = written(Format::Perfetto, step);
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    let mut lanes: BTreeMap<u64, u64> = BTreeMap::new();
    let mut open: BTreeMap<u64, (i64, String)> = BTreeMap::new();
    let (mut found, mut flows): (Rows, [Vec<u64>; 2]) = Default::default();
    for packet in messages(&fields(&bytes), 1) {
        let packet = fields(packet);
        for interned in messages(&packet, 12) {
            for name in messages(&fields(interned), 2) {
                let name = fields(name);
                let text = messages(&name, 2).first().map_or(&[][..], |bytes| *bytes);
                let text = String::from_utf8(text.to_vec()).expect("UTF-8");
                assert_ne!(number(&name, 1), 0, "0 is no number of a text");
                names.insert(number(&name, 1), text);
            }
        }
        for track in messages(&packet, 60) {
            let track = fields(track);
            if messages(&track, 3).is_empty() {
                let lane = lanes.len() as u64;
                lanes.insert(number(&track, 1), lane);
            }
        }
        for event in messages(&packet, 11) {
            let event = fields(event);
            let lane = lanes[&number(&event, 11)];
            let time = i64::try_from(number(&packet, 8)).expect("it fits");
            match number(&event, 9) {
                1 => {
                    let before = open.insert(lane, (time, names[&number(&event, 10)].clone()));
                    assert_eq!(before, None, "slices of a track do not overlap");
                    flows[0].extend(numbers(&event, 47));
                    flows[1].extend(numbers(&event, 48));
                }
                2 => {
                    let (start, name) = open.remove(&lane).expect("it began");
                    found.push((lane, start, time, name));
                }
                other => panic!("an event of type {other}"),
            }
        }
    }
    assert!(open.is_empty(), "each slice ends");
    found.sort();
    let mut all = rows(step, false);
    all.extend(rows(step, true));
    all.sort();
    assert_eq!(found, all);
    for ids in &mut flows {
        ids.sort_unstable();
    }
    assert_eq!(flows[0].len(), step.links.len());
    assert_eq!(flows[0], flows[1], "each arrow has two ends");
}

/// Whether a profile could hold it: our reader wants a task.
fn has_task(step: &StepTimeline) -> bool {
    step.lanes.iter().any(|lane| lane.kind != LaneKind::Thread)
}

#[test]
fn the_example_reads_back() {
    let step = example();
    chrome_reads_back(&step);
    perfetto_reads_back(&step);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn chrome_holds_every_ns(step in any_step().prop_filter("a task", has_task)) {
        chrome_reads_back(&step);
    }

    #[test]
    fn perfetto_holds_every_ns(step in any_step()) {
        perfetto_reads_back(&step);
    }

    #[test]
    fn tables_hold_every_row_and_text(step in any_step()) {
        let bytes = written(Format::Csv, &step);
        let mut table = csv::Reader::from_reader(bytes.as_slice());
        let header = table.headers().expect("it has one").clone();
        let at = |name: &str| header.iter().position(|one| one == name).expect("a column");
        let (op, start, end) = (at("op"), at("start_ns"), at("end_ns"));
        let records: Vec<_> = table.records().map(|record| record.expect("a row")).collect();
        prop_assert_eq!(records.len(), step.rows.len());
        for (record, row) in records.iter().zip(&step.rows) {
            prop_assert_eq!(&record[op], step.text(row.op));
            prop_assert_eq!(&record[start], row.start_ns.to_string());
            prop_assert_eq!(&record[end], row.end_ns.to_string());
        }
    }

    #[test]
    fn graphs_and_pictures_quote_names(step in any_step()) {
        let dot = String::from_utf8(written(Format::Dot, &step)).expect("UTF-8");
        // Outside quotes, only our own words are left.
        let mut inside = false;
        let mut escaped = false;
        let mut outside = String::new();
        for c in dot.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if inside => escaped = true,
                '"' => inside = !inside,
                c if !inside => outside.push(c),
                _ => {}
            }
        }
        prop_assert!(!inside);
        prop_assert!(!outside.contains("evil") && !outside.contains('<'), "{}", outside);
        let is_shown = |row: u32| step.lanes[step.rows[row as usize].lane as usize].kind != LaneKind::Thread;
        let edges = step.links.iter().filter(|link| {
            link.kind != LinkKind::Launch && is_shown(link.from) && is_shown(link.to)
        });
        prop_assert_eq!(dot.matches("constraint=false").count(), edges.count());
        let svg = String::from_utf8(written(Format::Svg, &step)).expect("UTF-8");
        prop_assert!(!svg.contains("<script") && !svg.contains("<img"));
    }
}
