//! A schedule as text for people: what it declares, and a table of ops for each program.
//!
//! The text is the same for the same schedule, and nothing in it depends on the width of a terminal.

mod op;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use crate::ir::{Buffer, Communicator, Event, Memory, Owner, RankGroup, Schedule, Stream};
use op::{Plain, object, row};
use table::Table;

/// The text of `schedule`.
///
/// # Complexity
/// O(length of the text).
pub fn dump(schedule: &Schedule) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let written = write(schedule, &mut out);
    debug_assert!(written.is_ok());
    out
}

fn write(schedule: &Schedule, out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "schedule {} ({})",
        Plain(&schedule.name),
        schedule.format
    )?;
    if !schedule.description.is_empty() {
        writeln!(out, "{}", Plain(&schedule.description))?;
    }
    section(out, "variables", &schedule.variables, |variable| {
        let nominal: Vec<String> = variable.nominal.iter().map(f64::to_string).collect();
        vec![
            Plain(&variable.name).to_string(),
            format!("nominal {}", nominal.join(" ")),
            op::distribution(&variable.distribution).to_owned(),
            op::provenance(variable.from).to_owned(),
        ]
    })?;
    section(out, "buffers", &schedule.buffers, buffer)?;
    section(out, "streams", &schedule.streams, stream)?;
    section(out, "events", &schedule.events, |event: &Event| {
        let name = Plain(event.name.as_str()).to_string();
        vec![name, op::event_kind(event.kind).to_owned()]
    })?;
    section(out, "notifies", &schedule.notifies, |notify| {
        vec![Plain(notify.name.as_str()).to_string()]
    })?;
    section(out, "communicators", &schedule.communicators, communicator)?;
    section(out, "ranks", &schedule.ranks, ranks)?;
    for program in &schedule.programs {
        let name = Plain(program.name.as_str());
        write!(
            out,
            "\nprogram {name}, {}",
            counted(program.ops.len(), "op")
        )?;
        if let Some(capture) = &program.capture {
            write!(out, ", captured from {}", Plain(capture.origin.as_str()))?;
            if let Some(size) = capture.size {
                write!(out, " for size {size}")?;
            }
        }
        out.push('\n');
        let mut table = Table::new(&[
            "#", "id", "thread", "stream", "op", "cores", "duration", "tags",
        ]);
        for (index, item) in program.ops.iter().enumerate() {
            table.row(row(&index.to_string(), item, object(item)));
            for (part, task) in item.kind.tasks().iter().enumerate() {
                let mut what = object(&task.op);
                for (at, id) in task.after.iter().enumerate() {
                    let word = if at == 0 { " after" } else { "," };
                    write!(what, "{word} {}", Plain(id.as_str()))?;
                }
                table.row(row(&format!("{index}.{part}"), &task.op, what));
            }
        }
        table.write(out);
    }
    Ok(())
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn section<T>(
    out: &mut String,
    title: &str,
    items: &[T],
    cells: impl Fn(&T) -> Vec<String>,
) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    let mut table = Table::default();
    items.iter().for_each(|item| table.row(cells(item)));
    table.write(out);
    Ok(())
}

fn buffer(buffer: &Buffer) -> Vec<String> {
    let memory = match buffer.memory {
        Memory::Hbm => "hbm",
        Memory::HostPinned => "host_pinned",
        Memory::HostPageable => "host_pageable",
    };
    let view = buffer.view.as_ref().map(|view| {
        let of = Plain(view.of.as_str());
        format!("view of {of} at {}", view.offset)
    });
    vec![
        Plain(buffer.name.as_str()).to_string(),
        format!("{} B", buffer.bytes),
        memory.to_owned(),
        view.unwrap_or_default(),
        op::tags(&buffer.tags),
    ]
}

fn stream(stream: &Stream) -> Vec<String> {
    let owner = match stream.owner {
        Owner::Own => "own",
        Owner::Borrowed => "borrowed",
        Owner::Default => "default",
    };
    let priority = stream.priority.map(|value| format!("priority {value}"));
    let limit = stream.core_limit.map(|limit| {
        let part = |name, cores: Option<u32>| cores.map(|cores| format!("{cores} {name}"));
        let parts = [part("aic", limit.aic), part("aiv", limit.aiv)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("at most {}", parts.join(" "))
    });
    vec![
        Plain(stream.name.as_str()).to_string(),
        owner.to_owned(),
        priority.unwrap_or_default(),
        limit.unwrap_or_default(),
    ]
}

fn communicator(communicator: &Communicator) -> Vec<String> {
    let group = |ranks: &Vec<u32>| {
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        format!("[{}]", ranks.join(" "))
    };
    let groups: Vec<String> = communicator.groups.iter().map(group).collect();
    let expansion = communicator.expansion.map(op::expansion);
    vec![
        Plain(communicator.name.as_str()).to_string(),
        groups.join(" "),
        expansion.unwrap_or_default().to_owned(),
    ]
}

fn ranks(group: &RankGroup) -> Vec<String> {
    let last = u64::from(group.first) + u64::from(group.count.max(1)) - 1;
    let range = match group.count {
        1 => group.first.to_string(),
        _ => format!("{}-{last}", group.first),
    };
    let overrides = match group.overrides.len() {
        0 => String::new(),
        count => counted(count, "override"),
    };
    let program = group.program.as_ref();
    vec![
        range,
        program.map_or_else(
            || "external".to_owned(),
            |name| Plain(name.as_str()).to_string(),
        ),
        overrides,
    ]
}
