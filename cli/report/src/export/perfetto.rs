//! Perfetto's protobuf (`perfetto.protos.Trace`): a process per rank, a track per lane, a slice per
//! row, a flow per link. Field numbers are those of the public schema (perfetto.dev/docs/reference).

use std::collections::BTreeSet;
use std::io::{self, Write};

use ascsim_studies::{LaneKind, StepTimeline, TextId};
use prost::Message;

/// The one sequence of packets that we write.
const SEQUENCE: u32 = 1;
/// The texts that were interned before are forgotten.
const CLEARED: u32 = 1;
/// The packet uses interned texts.
const NEEDS_STATE: u32 = 2;
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;

#[derive(Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    sequence: u32,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(uint32, optional, tag = "13")]
    flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Message)]
struct Event {
    // Perfetto reads one number a field, as its schema declares it.
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    categories: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    facts: Vec<Fact>,
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    name: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    track: Option<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    ending_flows: Vec<u64>,
}

#[derive(Message)]
struct Fact {
    #[prost(uint64, tag = "1")]
    name: u64,
    #[prost(int64, optional, tag = "4")]
    number: Option<i64>,
    #[prost(uint64, optional, tag = "17")]
    text: Option<u64>,
}

#[derive(Message)]
struct Interned {
    #[prost(message, repeated, tag = "1")]
    categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    events: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    facts: Vec<InternedName>,
    #[prost(message, repeated, tag = "29")]
    texts: Vec<InternedText>,
}

#[derive(Message)]
struct InternedName {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Message)]
struct InternedText {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(bytes = "vec", tag = "2")]
    text: Vec<u8>,
}

#[derive(Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
    #[prost(int32, optional, tag = "11")]
    children: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    place: Option<i32>,
}

#[derive(Message)]
struct Process {
    #[prost(int32, tag = "1")]
    id: i32,
    #[prost(string, tag = "6")]
    name: String,
}

/// The facts of a slice, in the order of their numbers from 1.
const FACTS: [&str; 10] = [
    "op",
    "tags",
    "cores",
    "duration_from",
    "moves",
    "issued_ns",
    "ready_ns",
    "wait_on_cores_ns",
    "delay_ns",
    "critical_ns",
];

/// Writes the timeline.
pub(super) fn write(step: &StepTimeline, out: &mut dyn Write) -> io::Result<()> {
    let mut packets = Packets { out };
    tracks(step, &mut packets)?;
    packets.put(Packet {
        flags: Some(CLEARED | NEEDS_STATE),
        interned: Some(interned(step)),
        ..packet()
    })?;
    let mut leaving: Vec<Vec<u64>> = vec![Vec::new(); step.rows.len()];
    let mut arriving = leaving.clone();
    for (id, link) in (1_u64..).zip(&step.links) {
        leaving[link.from as usize].push(id);
        arriving[link.to as usize].push(id);
    }
    // Lane by lane: of two packets at one time, the end of a slice comes before the start of the next.
    for (at, row) in step.rows.iter().enumerate() {
        let text = |fact: u64, id: TextId| {
            (id != 0).then_some(Fact {
                name: fact,
                number: None,
                text: Some(interned_id(id)),
            })
        };
        let number = |fact: u64, ns: i64| {
            (ns != 0).then_some(Fact {
                name: fact,
                number: Some(ns),
                text: None,
            })
        };
        let is_call = step.lanes[row.lane as usize].kind == LaneKind::Thread;
        let since = |ns: i64| if is_call { 0 } else { ns };
        let facts = [
            text(1, row.op),
            text(2, row.tags),
            text(3, row.cores),
            text(4, row.provenance),
            text(5, row.moves),
            number(6, since(row.issued_ns)),
            number(7, since(row.ready_ns)),
            number(8, row.start_ns - row.ready_ns),
            number(9, row.delay_ns),
            number(10, row.critical_ns),
        ];
        let track = Some(lane_track(row.lane));
        let begin = Event {
            categories: vec![interned_id(row.kind)],
            facts: facts.into_iter().flatten().collect(),
            kind: Some(SLICE_BEGIN),
            name: Some(interned_id(row.name)),
            track,
            flows: std::mem::take(&mut leaving[at]),
            ending_flows: std::mem::take(&mut arriving[at]),
        };
        let end = Event {
            categories: Vec::new(),
            facts: Vec::new(),
            kind: Some(SLICE_END),
            name: None,
            track,
            flows: Vec::new(),
            ending_flows: Vec::new(),
        };
        for (ns, event) in [(row.start_ns, begin), (row.end_ns, end)] {
            packets.put(Packet {
                // Steps start at 0.
                timestamp: Some(ns.max(0).unsigned_abs()),
                flags: Some(NEEDS_STATE),
                event: Some(event),
                ..packet()
            })?;
        }
    }
    Ok(())
}

struct Packets<'a> {
    out: &'a mut dyn Write,
}

impl Packets<'_> {
    /// A trace is its packets, each as field 1 of the whole.
    fn put(&mut self, packet: Packet) -> io::Result<()> {
        const FIELD_1: u8 = 0x0a;
        self.out.write_all(&[FIELD_1])?;
        self.out.write_all(&packet.encode_length_delimited_to_vec())
    }
}

fn packet() -> Packet {
    Packet {
        sequence: SEQUENCE,
        ..Packet::default()
    }
}

/// The number of an interned text; 0 is none.
fn interned_id(id: TextId) -> u64 {
    u64::from(id) + 1
}

fn lane_track(lane: u32) -> u64 {
    (1 << 32) + u64::from(lane)
}

fn rank_track(rank: u32) -> u64 {
    (2 << 32) + u64::from(rank)
}

fn tracks(step: &StepTimeline, packets: &mut Packets<'_>) -> io::Result<()> {
    const EXPLICIT_ORDER: i32 = 3;
    let ranks: BTreeSet<u32> = step.lanes.iter().map(|lane| lane.rank).collect();
    for rank in ranks {
        let process = Process {
            // No process has the number 0. Ranks beyond 2^31 do not exist.
            id: i32::try_from(rank).unwrap_or(i32::MAX - 1) + 1,
            name: format!("rank {rank}"),
        };
        let track = Track {
            id: rank_track(rank),
            process: Some(process),
            children: Some(EXPLICIT_ORDER),
            ..Track::default()
        };
        packets.put(Packet {
            track: Some(track),
            ..packet()
        })?;
    }
    for (at, lane) in (0_u32..).zip(&step.lanes) {
        let name = match lane.kind {
            LaneKind::Stream => format!("stream {}", lane.name),
            LaneKind::Parts => lane.name.clone(),
            LaneKind::Thread => format!("host thread {}", lane.name),
        };
        let track = Track {
            id: lane_track(at),
            name: Some(name),
            parent: Some(rank_track(lane.rank)),
            place: i32::try_from(at).ok(),
            ..Track::default()
        };
        packets.put(Packet {
            track: Some(track),
            ..packet()
        })?;
    }
    Ok(())
}

/// The texts that packets name by number. An event name is one only where a row has it.
fn interned(step: &StepTimeline) -> Interned {
    let used = |field: fn(&ascsim_studies::Row) -> TextId| {
        let ids: BTreeSet<TextId> = step.rows.iter().map(field).collect();
        let names = ids.into_iter().map(|id| InternedName {
            id: interned_id(id),
            name: step.text(id).to_owned(),
        });
        names.collect()
    };
    let facts = (1_u64..).zip(FACTS).map(|(id, name)| InternedName {
        id,
        name: name.to_owned(),
    });
    let texts = (1_u64..).zip(&step.texts).map(|(id, text)| InternedText {
        id,
        text: text.as_bytes().to_vec(),
    });
    Interned {
        categories: used(|row| row.kind),
        events: used(|row| row.name),
        facts: facts.collect(),
        texts: texts.skip(1).collect(),
    }
}
