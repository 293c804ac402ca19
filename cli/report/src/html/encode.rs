//! A timeline as compact bytes for the page: texts once, columns of numbers of variable length
//! (seven bits a byte, the lowest first; signed ones with the sign in the lowest bit), packed.
//! `assets/data.js` reads it.

use std::io::{self, Write};

use ascsim_studies::{LaneKind, LinkKind, Row, StepTimeline, TextId};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use super::compare::Marks;

/// Writes `step` as base64 of a zlib stream.
///
/// # Errors
/// Of the writer.
pub(super) fn write(step: &StepTimeline, marks: &Marks, out: &mut dyn Write) -> io::Result<()> {
    let base64 = base64::engine::general_purpose::STANDARD;
    let base64 = base64::write::EncoderWriter::new(out, &base64);
    let mut packed = ZlibEncoder::new(base64, Compression::default());
    packed.write_all(&bytes(step, marks))?;
    packed.finish()?.finish()?;
    Ok(())
}

struct Bytes(Vec<u8>);

impl Bytes {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn signed(&mut self, value: i64) {
        // Differences of times and indices are far below 2^62.
        self.number((value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned());
    }

    fn size(&mut self, value: i64) {
        self.number(value.max(0).cast_unsigned());
    }
}

fn bytes(step: &StepTimeline, marks: &Marks) -> Vec<u8> {
    let lanes: Vec<_> = (0_u32..)
        .zip(&step.lanes)
        .map(|(at, lane)| {
            let rows = step.rows_of(at);
            let kind = match lane.kind {
                LaneKind::Stream => "stream",
                LaneKind::Parts => "parts",
                LaneKind::Thread => "thread",
            };
            json!({"rank": lane.rank, "name": lane.name, "kind": kind,
                   "first": rows.start, "count": rows.len()})
        })
        .collect();
    // A launch is told by the time of the call, which each row has.
    let links: Vec<_> = step
        .links
        .iter()
        .filter(|link| link.kind != LinkKind::Launch)
        .collect();
    let head = json!({
        "rows": step.rows.len(), "texts": step.texts.len(), "links": links.len(),
        "path": step.path.len(), "lanes": lanes,
    });
    let head = head.to_string();
    let mut bytes = Bytes(Vec::new());
    bytes.number(head.len() as u64);
    bytes.0.extend_from_slice(head.as_bytes());
    for text in &step.texts {
        bytes.number(text.len() as u64);
    }
    for text in &step.texts {
        bytes.0.extend_from_slice(text.as_bytes());
    }
    let mut last = (u32::MAX, 0);
    for row in &step.rows {
        let before = if last.0 == row.lane { last.1 } else { 0 };
        bytes.signed(row.start_ns - before);
        last = (row.lane, row.end_ns);
    }
    for row in &step.rows {
        bytes.size(row.len_ns());
    }
    let mut last = 0;
    for row in &step.rows {
        bytes.signed(i64::from(row.op) - last);
        last = i64::from(row.op);
    }
    let fields: [fn(&Row) -> TextId; 6] = [
        |row| row.name,
        |row| row.kind,
        |row| row.tags,
        |row| row.cores,
        |row| row.provenance,
        |row| row.moves,
    ];
    for field in fields {
        for row in &step.rows {
            bytes.number(u64::from(field(row)));
        }
    }
    for row in &step.rows {
        bytes.signed(row.start_ns - row.issued_ns);
    }
    for row in &step.rows {
        bytes.size(row.start_ns - row.ready_ns);
    }
    for row in &step.rows {
        bytes.size(row.delay_ns);
    }
    for row in &step.rows {
        // 0: none of it, 1: all of it.
        match row.critical_ns {
            0 => bytes.number(0),
            ns if ns == row.len_ns() => bytes.number(1),
            ns => bytes.size(ns + 2),
        }
    }
    for row in &step.rows {
        bytes.number(u64::from(row.engines));
    }
    for flags in &marks.flags {
        bytes.number(u64::from(*flags));
    }
    let mut last = 0;
    for other in &marks.other {
        let other = other.map_or(0, |other| i64::from(other) + 1);
        bytes.signed(other - last);
        last = other;
    }
    let mut to = 0;
    for link in links {
        bytes.number(u64::from(link.to - to));
        to = link.to;
        bytes.signed(i64::from(link.from) - i64::from(to));
        // In the order of the names that the page has for them.
        bytes.number(link.kind as u64);
    }
    let mut time = 0;
    for stretch in &step.path {
        bytes.number(u64::from(stretch.lane));
        bytes.signed(stretch.start_ns - time);
        bytes.size(stretch.end_ns - stretch.start_ns);
        bytes.number(u64::from(stretch.category));
        bytes.number(u64::from(stretch.op));
        time = stretch.end_ns;
    }
    bytes.0
}
