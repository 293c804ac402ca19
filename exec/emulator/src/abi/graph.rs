//! Graph capture and replay (facts/acl.md section 10).

use super::{Out, call};
use crate::emulator::Session;
use crate::fault::{Fault, Outcome, code};
use crate::runtime::milliseconds;
use crate::table::Key;

/// `aclmdlRICaptureBegin`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureBegin(stream: usize, mode: u32) -> i32 {
    call("aclmdlRICaptureBegin", |session| {
        let stream = session.stream(stream)?;
        let thread = session.host.id;
        session.begin_capture(stream, mode, thread)
    })
}

/// `aclmdlRICaptureEnd`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureEnd(stream: usize, graph: *mut usize) -> i32 {
    call("aclmdlRICaptureEnd", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(graph, "graph") }?;
        let stream = session.stream(stream)?;
        let thread = session.host.id;
        out.set(session.end_capture(stream, thread)?);
        Ok(())
    })
}

/// `aclmdlRICaptureGetInfo`; there is no graph handle before the end of the capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureGetInfo(
    stream: usize,
    status: *mut u32,
    graph: *mut usize,
) -> i32 {
    call("aclmdlRICaptureGetInfo", |session| {
        // SAFETY: by the contract of the ABI.
        let (status, graph) = unsafe { (Out::new(status, "status")?, Out::new(graph, "graph")?) };
        let stream = session.stream(stream)?;
        status.set(u32::from(session.streams.get(stream)?.capture.is_some()));
        graph.set(0);
        Ok(())
    })
}

/// `aclmdlRICaptureThreadExchangeMode`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureThreadExchangeMode(mode: *mut u32) -> i32 {
    call("aclmdlRICaptureThreadExchangeMode", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(mode, "mode") }?;
        // SAFETY: not null, and valid by the contract of the ABI.
        let given = unsafe { mode.read() };
        if given > 2 {
            return Fault::err(code::PARAM_INVALID, "EE1003: the capture mode is 0, 1 or 2");
        }
        out.set(std::mem::replace(&mut session.host.capture_mode, given));
        Ok(())
    })
}

/// `aclmdlRICaptureTaskGrpBegin`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureTaskGrpBegin(stream: usize) -> i32 {
    call("aclmdlRICaptureTaskGrpBegin", |session| {
        let stream = session.stream(stream)?;
        session.begin_group(stream)
    })
}

/// `aclmdlRICaptureTaskGrpEnd`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureTaskGrpEnd(stream: usize, group: *mut usize) -> i32 {
    call("aclmdlRICaptureTaskGrpEnd", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(group, "group") }?;
        let stream = session.stream(stream)?;
        out.set(session.end_group(stream)?);
        Ok(())
    })
}

/// `aclmdlRICaptureTaskUpdateBegin`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureTaskUpdateBegin(stream: usize, group: usize) -> i32 {
    call("aclmdlRICaptureTaskUpdateBegin", |session| {
        let stream = session.stream(stream)?;
        session.begin_update(stream, group)
    })
}

/// `aclmdlRICaptureTaskUpdateEnd`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRICaptureTaskUpdateEnd(stream: usize) -> i32 {
    call("aclmdlRICaptureTaskUpdateEnd", |session| {
        let stream = session.stream(stream)?;
        session.end_update(stream)
    })
}

fn execute(session: &mut Session<'_>, graph: Key, stream: Key) -> Outcome {
    let stream = session.stream(stream)?;
    if session.streams.get(stream)?.capture.is_some() {
        return Fault::err(code::STREAM_CAPTURED, "EE1017: a graph cannot be captured");
    }
    session.launch_graph(graph, stream)
}

/// `aclmdlRIExecuteAsync`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRIExecuteAsync(graph: usize, stream: usize) -> i32 {
    call("aclmdlRIExecuteAsync", |session| {
        execute(session, graph, stream)
    })
}

/// `aclmdlRIExecute`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRIExecute(graph: usize, timeout: i32) -> i32 {
    call("aclmdlRIExecute", |session| {
        execute(session, graph, 0)?;
        session.synchronise_stream(0, milliseconds(timeout))
    })
}

/// `aclmdlRIDestroy`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlRIDestroy(graph: usize) -> i32 {
    call("aclmdlRIDestroy", |session| session.destroy_graph(graph))
}
