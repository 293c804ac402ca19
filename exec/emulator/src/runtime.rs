//! Devices, contexts, streams and copies, as calls see them (facts/acl.md sections 1, 2, 6).

use crate::emulator::{Session, Unmet};
use crate::event::DEADLOCK;
use crate::fault::{Fault, Outcome, code};
use crate::memory::{Home, Place};
use crate::raw::CallerSpan;
use crate::table::Key;
use crate::task::{Shape, Work};
use crate::world::World;

const HOST_TO_HOST: u32 = 0;
const HOST_TO_DEVICE: u32 = 1;
const DEVICE_TO_HOST: u32 = 2;
const DEVICE_TO_DEVICE: u32 = 3;
const DEFAULT: u32 = 4;

/// Milliseconds of a C time-out in ns; negative is without limit.
pub(crate) fn milliseconds(timeout: i32) -> Option<u64> {
    u64::try_from(timeout)
        .ok()
        .map(|timeout| timeout * 1_000_000)
}

/// One side of a copy as the caller gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) address: usize,
    /// The same memory as the caller's, for the case that it is not ours.
    pub(crate) span: CallerSpan,
}

impl Session<'_> {
    /// The device of the thread's context.
    pub(crate) fn device_of_thread(&self) -> Outcome<u32> {
        let context = self.context_of_thread()?;
        Ok(self.contexts.get(context)?.device)
    }

    pub(crate) fn context_of_thread(&self) -> Outcome<Key> {
        if !self.initialised {
            return Fault::err(code::UNINITIALIZED, "EE1001: aclInit was not called");
        }
        let context = self.host.context;
        match self.contexts.get(context) {
            Ok(_) => Ok(context),
            Err(_) => Fault::err(
                code::CONTEXT_NULL,
                "EE1001: the thread has no context; call aclrtSetDevice or aclrtSetCurrentContext",
            ),
        }
    }

    /// The stream that a caller means: his own, or with null the default one of his context. It may
    /// take tasks.
    pub(crate) fn stream(&self, key: Key) -> Outcome<Key> {
        let context = self.context_of_thread()?;
        let current = self.contexts.get(context)?;
        if let Some(fault) = &current.stopped {
            return Err(fault.clone());
        }
        let key = if key == 0 {
            current.default_stream
        } else {
            key
        };
        if self.streams.get(key)?.context != context {
            return Fault::err(
                code::STREAM_CONTEXT,
                "EE1001: the stream belongs to another context than that of the thread",
            );
        }
        Ok(key)
    }

    /// As [`Self::stream`], for calls that only look.
    pub(crate) fn stream_to_look_at(&self, key: Key) -> Outcome<Key> {
        match self.stream(key) {
            Err(fault) if self.streams.get(key).is_ok() && fault.code != code::STREAM_CONTEXT => {
                self.context_of_thread().map(|_| key)
            }
            other => other,
        }
    }

    pub(crate) fn set_device(&mut self, device: i32) -> Outcome {
        if !self.initialised {
            return Fault::err(code::UNINITIALIZED, "EE1001: aclInit was not called");
        }
        let context = self.primary(device)?;
        self.enter_context(context);
        Ok(())
    }

    pub(crate) fn reset_device(&mut self, device: i32, force: bool) -> Outcome {
        let (index, entry) = self.device(device)?;
        if entry.references == 0 {
            return Ok(());
        }
        entry.references = if force { 0 } else { entry.references - 1 };
        if entry.references > 0 {
            return Ok(());
        }
        let primary = entry.primary.take();
        if let Some(context) = primary {
            self.drop_context(context)?;
        }
        self.memory.free_device(index);
        self.leave_context();
        Ok(())
    }

    /// Refuses what a capture in progress forbids on this thread.
    pub(crate) fn check_no_capture(&self, code: i32, what: &str) -> Outcome {
        let (thread, relaxed) = (self.host.id, self.host.capture_mode == 2);
        let forbids = |mode: u32, of: u64| match mode {
            0 => !relaxed && (of == thread || self.host.capture_mode == 0),
            1 => !relaxed && of == thread,
            _ => false,
        };
        if self
            .captures
            .values()
            .any(|capture| forbids(capture.mode, capture.thread))
        {
            return Fault::err(
                code,
                format!("EE1017: the capture in progress forbids {what}"),
            );
        }
        Ok(())
    }

    /// `aclrtSynchronizeStreamWithTimeout`, in ns.
    pub(crate) fn synchronise_stream(&mut self, key: Key, timeout: Option<u64>) -> Outcome {
        let key = self.stream_to_look_at(key)?;
        self.synchronise(vec![key], timeout)
    }

    /// `aclrtSynchronizeDeviceWithTimeout`, in ns.
    pub(crate) fn synchronise_device(&mut self, timeout: Option<u64>) -> Outcome {
        let device = self.device_of_thread()?;
        if !self.captures.is_empty() {
            return Fault::err(
                code::CAPTURE_MODE_NOT_SUPPORT,
                "EE1017: the capture in progress forbids synchronising the device",
            );
        }
        let streams = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.device == device && stream.parent.is_none())
            .map(|(key, _)| key)
            .collect();
        self.synchronise(streams, timeout)
    }

    fn synchronise(&mut self, keys: Vec<Key>, timeout: Option<u64>) -> Outcome {
        let mut aborts = Vec::with_capacity(keys.len());
        for key in &keys {
            let stream = self.streams.get(*key)?;
            if stream.capture.is_some() {
                return Fault::err(
                    code::STREAM_CAPTURED,
                    "EE1017: the stream is being captured",
                );
            }
            aborts.push(stream.aborts);
        }
        let waited = self.wait(timeout, |world| {
            let mut idle = true;
            for (key, aborts) in keys.iter().zip(&aborts) {
                let stream = world.streams.get(*key).ok()?;
                if stream.aborts != *aborts {
                    return Some(Fault::err(
                        code::STREAM_ABORT,
                        "EE1019: the stream was aborted",
                    ));
                }
                idle &= stream.queue.is_empty();
            }
            idle.then_some(Ok(()))
        });
        match waited {
            Ok(outcome) => outcome?,
            Err(Unmet::TimedOut) => {
                return Fault::err(
                    code::STREAM_SYNC_TIMEOUT,
                    "EE1002: synchronising timed out; the tasks go on",
                );
            }
            Err(Unmet::Deadlock) => return Fault::err(code::INTERNAL, DEADLOCK),
        }
        keys.iter().try_for_each(|key| self.take_error(*key))
    }

    /// Reports an error of the stream, once.
    pub(crate) fn take_error(&mut self, key: Key) -> Outcome {
        let stream = self.streams.get_mut(key)?;
        let context = stream.context;
        let error = stream.error.take();
        let stopped = self.contexts.get(context)?.stopped.clone();
        error.or(stopped).map_or(Ok(()), Err)
    }

    /// Whether the stream is empty. A poll: with the virtual clock, time moves on to the next
    /// happening if it is not.
    pub(crate) fn query_stream(&mut self, key: Key) -> Outcome<bool> {
        let key = self.stream_to_look_at(key)?;
        if self.streams.get(key)?.capture.is_some() {
            return Fault::err(
                code::STREAM_CAPTURED,
                "EE1017: the stream is being captured",
            );
        }
        let idle = |world: &World| world.streams.get(key).is_ok_and(|it| it.queue.is_empty());
        if !idle(self) {
            self.poll();
        }
        self.take_error(key)?;
        Ok(idle(self))
    }

    /// With the virtual clock, a poll lets the next thing happen.
    pub(crate) fn poll(&mut self) {
        if self.config.virtual_clock {
            self.step(None);
        }
    }

    pub(crate) fn abort_stream(&mut self, key: Key) -> Outcome {
        if self.config.old_firmware {
            return Fault::err(
                code::FEATURE_NOT_SUPPORT,
                "EE1006: stream abort needs newer firmware",
            );
        }
        let key = self.stream_to_look_at(key)?;
        if self.streams.get(key)?.capture.is_some() {
            return Fault::err(
                code::STREAM_CAPTURED,
                "EE1017: the stream is being captured",
            );
        }
        self.clear(key)?;
        let stream = self.streams.get_mut(key)?;
        stream.aborts += 1;
        stream.error = None;
        self.settle();
        Ok(())
    }

    pub(crate) fn destroy_stream(&mut self, key: Key, force: bool) -> Outcome {
        let stream = self.streams.get(key)?;
        if stream.capture.is_some() {
            return Fault::err(
                code::STREAM_CAPTURED,
                "EE1017: the stream is being captured",
            );
        }
        if stream.default {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1003: the default stream is not destroyed",
            );
        }
        if !force {
            let wait = self.wait(None, |world| {
                world
                    .streams
                    .get(key)
                    .is_ok_and(|it| it.queue.is_empty())
                    .then_some(())
            });
            if wait.is_err() {
                return Fault::err(code::INTERNAL, DEADLOCK);
            }
        }
        self.drop_stream(key)?;
        self.settle();
        Ok(())
    }

    /// The kind of a copy and its ends, checked.
    fn ends(&self, to: Side, from: Side, bytes: usize, kind: u32) -> Outcome<(Place, Place, u32)> {
        let is_device =
            |side: Side| matches!(self.memory.home(side.address, bytes), Some(Home::Device(_)));
        let kind = match (kind, is_device(from), is_device(to)) {
            (DEFAULT, false, true) => HOST_TO_DEVICE,
            (DEFAULT, true, false) => DEVICE_TO_HOST,
            (DEFAULT, true, true) | (6 | 7, ..) => DEVICE_TO_DEVICE,
            (DEFAULT, false, false) => HOST_TO_HOST,
            (5, ..) => HOST_TO_DEVICE,
            (kind, ..) => kind,
        };
        let (from_device, to_device) = match kind {
            HOST_TO_HOST => (false, false),
            HOST_TO_DEVICE => (false, true),
            DEVICE_TO_HOST => (true, false),
            DEVICE_TO_DEVICE => (true, true),
            _ => return Fault::err(code::PARAM_INVALID, format!("EE1003: no copy kind {kind}")),
        };
        if is_device(from) != from_device || is_device(to) != to_device {
            return Fault::err(
                code::PARAM_INVALID,
                format!("EE1003: memory does not fit the kind {kind} of the copy of {bytes} bytes"),
            );
        }
        let place = |side: Side| match self.memory.home(side.address, bytes) {
            Some(_) => Place::Address(side.address),
            None => Place::Caller(side.span),
        };
        Ok((place(to), place(from), kind))
    }

    /// `aclrtMemcpy`.
    pub(crate) fn copy_now(&mut self, to: Side, from: Side, bytes: usize, kind: u32) -> Outcome {
        self.context_of_thread()?;
        self.check_no_capture(code::CAPTURE_MODE_NOT_SUPPORT, "synchronous copies")?;
        let (to, from, _) = self.ends(to, from, bytes, kind)?;
        self.memory.copy(to, from, bytes)?;
        self.settle();
        Ok(())
    }

    /// `aclrtMemcpyAsync`. With pageable memory it returns when the copy is done.
    pub(crate) fn copy_async(
        &mut self,
        to: Side,
        from: Side,
        bytes: usize,
        kind: u32,
        stream: Key,
    ) -> Outcome {
        let stream = self.stream(stream)?;
        let (to, from, kind) = self.ends(to, from, bytes, kind)?;
        if kind == HOST_TO_HOST {
            return Fault::err(
                code::FEATURE_NOT_SUPPORT,
                "EE1006: asynchronous copies from host to host are not supported",
            );
        }
        let pageable = [to, from]
            .iter()
            .any(|place| matches!(place, Place::Caller(_)));
        if pageable {
            self.check_no_capture(code::CAPTURE_MODE_BLOCK_ASYNC, "copies of pageable memory")?;
            if self.streams.get(stream)?.capture.is_some() {
                return Fault::err(
                    code::CAPTURE_MODE_BLOCK_ASYNC,
                    "EE1017: a copy of pageable memory cannot be captured",
                );
            }
        }
        let shape = Shape {
            duration: self.config.copy_ns,
            ..Shape::default()
        };
        self.enqueue_shaped(stream, Work::Copy { to, from, bytes }, shape)?;
        if !pageable {
            return Ok(());
        }
        let done = self.synchronise(vec![stream], None);
        if done.is_err() {
            // The caller's memory is no longer ours: the copy must not stay behind.
            self.withdraw_copies(stream);
        }
        done
    }

    fn withdraw_copies(&mut self, key: Key) {
        let mine = |work: &Work| {
            matches!(work, Work::Copy { to, from, .. }
                if [to, from].iter().any(|place| matches!(place, Place::Caller(_))))
        };
        if let Some(stream) = self.streams.find(key)
            && stream.queue.iter().any(|task| mine(&task.work))
            && self.clear(key).is_ok()
            && let Some(stream) = self.streams.find(key)
        {
            stream.aborts += 1;
        }
    }
}
