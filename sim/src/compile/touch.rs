//! Which bytes tasks touch, as far as the L2 cache is concerned.

use ascsim_schedules::flat::InstanceId;
use ascsim_schedules::footprint::Footprints;
use ascsim_schedules::{Access, AccessMode, Extra, OpKind, Peer, Range};

use super::Compiler;
use crate::engine::{Touch, TouchKind};

impl Compiler<'_, '_> {
    /// Notes which bytes of its own die a task touches. What is not known before the run (`any`)
    /// counts as never resident, and so does the memory of others.
    pub(super) fn touches(&mut self, id: InstanceId, footprints: &Footprints<'_>) {
        let instance = &self.flat[id];
        let number = id.index() as u32;
        if let OpKind::Prefetch(prefetch) = &instance.op.kind {
            let bytes = instance
                .bytes()
                .and_then(|bytes| bytes.eval(self.values).ok());
            let access = Access {
                buffer: prefetch.buffer.clone(),
                mode: AccessMode::Read,
                range: Range::Bytes(
                    prefetch.offset,
                    (bytes.unwrap_or(0.0).max(0.0) + 0.5) as u64,
                ),
                peer: Peer::Own,
                extra: Extra::default(),
            };
            self.touch(number, &access, TouchKind::Prefetch, footprints);
            return;
        }
        for access in instance.op.accesses.known() {
            if !access.peer.is_own() || access.range == Range::Any {
                continue;
            }
            if access.mode != AccessMode::Write {
                self.touch(number, access, TouchKind::Read, footprints);
            }
            if access.mode.writes() {
                self.touch(number, access, TouchKind::Write, footprints);
            }
        }
    }

    fn touch(&mut self, number: u32, access: &Access, kind: TouchKind, all: &Footprints<'_>) {
        if let Some(footprint) = all.of(access)
            && footprint.start < footprint.end
        {
            self.builder.touch(
                number,
                Touch {
                    buffer: footprint.root as u32,
                    from: footprint.start,
                    to: footprint.end,
                    kind,
                },
            );
        }
    }
}
