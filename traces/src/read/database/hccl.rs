//! COMMUNICATION_OP and COMMUNICATION_TASK_INFO: collectives and their parts.

use std::collections::{BTreeMap, HashMap};

use super::tasks::Tasks;
use super::{Source, names_of};
use crate::TraceError;
use crate::model::{Collective, Name, PlaneKind, PlaneTask};
use crate::read::trace_view::{Timeline, plane_thread};

const OPS: &[&[&str]] = &[
    &["opName"],
    &["startNs"],
    &["endNs"],
    &["connectionId"],
    &["groupName"],
    &["dataType"],
    &["algType"],
    &["count"],
    &["modelId"],
    &["deviceId"],
];

const PARTS: &[&[&str]] = &[
    &["globalTaskId"],
    &["taskType"],
    &["planeId"],
    &["groupName"],
    &["notifyId"],
    &["srcRank"],
    &["dstRank"],
    &["transportType"],
    &["size"],
    &["linkType"],
];

/// Numbers groups in the order they come, as the text export does.
#[derive(Debug, Default)]
struct Groups(BTreeMap<i64, u32>);

impl Groups {
    fn number(&mut self, group: Option<i64>) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(group.unwrap_or(-1)).or_insert(next)
    }
}

/// Reads the collectives and what they are made of.
pub(super) fn read(
    source: &mut Source<'_>,
    tasks: &Tasks,
    timeline: &mut Timeline,
) -> Result<(), TraceError> {
    let mut groups = Groups::default();
    collectives(source, &mut groups, timeline)?;
    planes(source, tasks, &mut groups, timeline)?;
    for (group, number) in groups.0 {
        let lane = timeline
            .names
            .intern(&format!("Group {number} Communication"));
        timeline
            .hccl_threads
            .insert(plane_thread(number, None), lane);
        if let Some(id) = source.strings.get(&group).filter(|id| *id != "N/A") {
            let id = timeline.names.intern(id);
            timeline.group_ids.insert(lane, id);
        }
    }
    Ok(())
}

fn collectives(
    source: &mut Source<'_>,
    groups: &mut Groups,
    timeline: &mut Timeline,
) -> Result<(), TraceError> {
    let database = source.database;
    let data_types = names_of(database, "ENUM_HCCL_DATA_TYPE")?;
    let has_device = database.has_column("COMMUNICATION_OP", &["deviceId"]);
    database.rows("COMMUNICATION_OP", OPS, |row| {
        if has_device && !source.is_here(row, 9)? {
            return Ok(());
        }
        let span = source.span(row, 1, 2)?;
        let group = groups.number(row.integer(4)?);
        let names = &mut timeline.names;
        let data_type = row.integer(5)?.and_then(|id| data_types.get(&id));
        let algorithm = source.string(row, 6)?;
        let collective = Collective {
            name: source.name(row, 0, names)?,
            group: Name::default(),
            group_id: None,
            connection: row.id(3)?,
            model: row.small_id(8)?,
            algorithm: algorithm.map(|text| names.intern(text)),
            data_type: data_type.map(|text| names.intern(text)),
            count: row.id(7)?,
            span,
            framework_op: None,
            times: None,
        };
        timeline
            .collectives
            .push((plane_thread(group, None), collective));
        Ok(())
    })
}

fn planes(
    source: &mut Source<'_>,
    tasks: &Tasks,
    groups: &mut Groups,
    timeline: &mut Timeline,
) -> Result<(), TraceError> {
    let database = source.database;
    let transports = names_of(database, "ENUM_HCCL_TRANSPORT_TYPE")?;
    let links = names_of(database, "ENUM_HCCL_LINK_TYPE")?;
    let mut interned: HashMap<u32, Name> = HashMap::new();
    database.rows("COMMUNICATION_TASK_INFO", PARTS, |row| {
        // The time is that of the device task; another device's has none here.
        let Some(task) = row.integer(0)?.and_then(|id| tasks.get(id)) else {
            return Ok(());
        };
        let names = &mut timeline.names;
        let name = source.string(row, 1)?.unwrap_or_default();
        let kind = PlaneKind::of(name);
        let is_notify = matches!(kind, PlaneKind::NotifyRecord | PlaneKind::NotifyWait);
        let group = groups.number(row.integer(3)?);
        let plane = row.small_id(2)?.unwrap_or_default();
        let thread = plane_thread(group, Some(plane));
        let lane = *interned
            .entry(plane)
            .or_insert_with(|| names.intern(&format!("Plane {plane}")));
        timeline.hccl_threads.insert(thread, lane);
        let transport = row.integer(7)?.and_then(|id| transports.get(&id));
        let link = row.integer(9)?.and_then(|id| links.get(&id));
        let plane = PlaneTask {
            kind,
            name: names.intern(name),
            group: Name::default(),
            plane,
            notify: row.id(4)?.filter(|_| is_notify),
            source: row.small_id(5)?,
            destination: row.small_id(6)?,
            bytes: row.id(8)?,
            transport: transport.map(|text| names.intern(text)),
            link: link.map(|text| names.intern(text)),
            stream: task.stream,
            task: task.task,
            context: task.context,
            span: task.span,
            device_task: None,
            collective: None,
        };
        timeline.planes.push((thread, plane));
        Ok(())
    })
}
