//! Collectives over the devices of one process (facts/acl.md section 12). The results are those of
//! HCCL: 0 ok, 1 parameter, 5 not supported, 9 time-out, 15 runtime.

use super::{Out, call, null};
use crate::collective::{CollectiveTask, Communicator, Kind, Reduce, element_bytes};
use crate::emulator::Session;
use crate::fault::{Fault, Outcome, code};
use crate::table::Key;
use crate::task::Work;

/// How long a rank waits for the others to join, in ns (HCCL_CONNECT_TIMEOUT is 120 s).
const JOIN: u64 = 120_000_000_000;

/// The bytes of a root info; the first eight hold its number.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RootInfo([u8; 4108]);

impl std::fmt::Debug for RootInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RootInfo")
    }
}

fn hccl(function: &'static str, body: impl FnOnce(&mut Session<'_>) -> Outcome) -> i32 {
    match call(function, body) {
        0 => 0,
        code::FEATURE_NOT_SUPPORT => 5,
        code::WAIT_TIMEOUT => 9,
        100_000..=199_999 => 1,
        _ => 15,
    }
}

/// `HcclGetRootInfo`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetRootInfo(root: *mut RootInfo) -> i32 {
    hccl("HcclGetRootInfo", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(root, "root info") }?;
        session.context_of_thread()?;
        let group = session.serial();
        session.meetings.joining.insert(group, Default::default());
        let mut info = RootInfo([0; 4108]);
        info.0[..8].copy_from_slice(&group.to_ne_bytes());
        out.set(info);
        Ok(())
    })
}

/// `HcclCommInitRootInfo`: returns when all ranks have joined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitRootInfo(
    ranks: u32,
    root: *const RootInfo,
    rank: u32,
    communicator: *mut usize,
) -> i32 {
    hccl("HcclCommInitRootInfo", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(communicator, "communicator") }?;
        if root.is_null() {
            return null("root info");
        }
        let mut number = [0; 8];
        // SAFETY: not null, and valid by the contract of the ABI.
        number.copy_from_slice(unsafe { &(&(*root).0)[..8] });
        let group = u64::from_ne_bytes(number);
        let device = session.device_of_thread()?;
        let joined = session.meetings.joining.get_mut(&group);
        let valid =
            rank < ranks && joined.is_some_and(|joined| joined.insert(rank, device).is_none());
        if !valid {
            return Fault::err(
                code::PARAM_INVALID,
                format!("EI0003: rank {rank} of {ranks} cannot join this root info"),
            );
        }
        let all = session.wait(Some(JOIN), |world| {
            let joined = world.meetings.joining.get(&group)?;
            (joined.len() == ranks as usize).then_some(())
        });
        if all.is_err() {
            return Fault::err(
                code::WAIT_TIMEOUT,
                "EI0006: not all ranks have joined in time",
            );
        }
        out.set(session.communicators.insert(Communicator {
            group,
            rank,
            size: ranks,
            device,
        }));
        Ok(())
    })
}

/// `HcclCommInitAll`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitAll(
    count: u32,
    devices: *mut i32,
    communicators: *mut usize,
) -> i32 {
    hccl("HcclCommInitAll", |session| {
        if devices.is_null() || communicators.is_null() || count == 0 {
            return null("devices or communicators");
        }
        // SAFETY: not null, and valid for `count` elements by the contract of the ABI.
        let devices = unsafe { std::slice::from_raw_parts(devices, count as usize) };
        for device in devices {
            session.device(*device)?;
        }
        let group = session.serial();
        for (rank, device) in (0..).zip(devices) {
            let device = device.cast_unsigned();
            let communicator = Communicator {
                group,
                rank,
                size: count,
                device,
            };
            let key = session.communicators.insert(communicator);
            // SAFETY: as above.
            unsafe { communicators.add(rank as usize).write(key) };
        }
        Ok(())
    })
}

/// `HcclCommDestroy`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommDestroy(communicator: usize) -> i32 {
    hccl("HcclCommDestroy", |session| {
        session.communicators.remove(communicator).map(drop)
    })
}

/// `HcclGetCommAsyncError`: errors of the emulator show on the streams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetCommAsyncError(communicator: usize, result: *mut i32) -> i32 {
    hccl("HcclGetCommAsyncError", |session| {
        // SAFETY: by the contract of the ABI.
        let out = unsafe { Out::new(result, "result") }?;
        session.communicators.get(communicator)?;
        out.set(0);
        Ok(())
    })
}

/// What all collectives have in common.
struct Call {
    kind: Kind,
    peer: u32,
    send: usize,
    receive: usize,
    count: u64,
    dtype: u32,
}

fn issue(session: &mut Session<'_>, call: Call, communicator: Key, stream: Key) -> Outcome {
    let stream = session.stream(stream)?;
    let communicator = *session.communicators.get(communicator)?;
    if session.streams.get(stream)?.device != communicator.device {
        return Fault::err(
            code::PARAM_INVALID,
            "EI0003: the stream is on another device",
        );
    }
    let element = element_bytes(call.dtype).ok_or_else(|| {
        Fault::new(
            code::PARAM_INVALID,
            format!("EI0003: no HcclDataType {}", call.dtype),
        )
    })?;
    let bytes = usize::try_from(call.count)
        .ok()
        .and_then(|count| count.checked_mul(element));
    let bytes =
        bytes.ok_or_else(|| Fault::new(code::PARAM_INVALID, "EI0003: the count is too large"))?;
    let pair = matches!(call.kind, Kind::Send | Kind::Receive);
    if pair && (call.peer >= communicator.size || call.peer == communicator.rank) {
        return Fault::err(
            code::PARAM_INVALID,
            format!("EI0003: no other rank {}", call.peer),
        );
    }
    if let Kind::AllReduce(reduce) | Kind::ReduceScatter(reduce) = call.kind
        && reduce.op > 3
    {
        return Fault::err(
            code::PARAM_INVALID,
            format!("EI0003: no HcclReduceOp {}", reduce.op),
        );
    }
    let work = Work::Collective(CollectiveTask {
        communicator,
        kind: call.kind,
        peer: call.peer,
        send: call.send,
        receive: call.receive,
        bytes,
        appointment: None,
    });
    session.enqueue(stream, work)
}

/// `HcclBarrier`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclBarrier(communicator: usize, stream: usize) -> i32 {
    hccl("HcclBarrier", |session| {
        let call = Call {
            kind: Kind::Barrier,
            peer: 0,
            send: 0,
            receive: 0,
            count: 0,
            dtype: 0,
        };
        issue(session, call, communicator, stream)
    })
}

/// `HcclAllReduce`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAllReduce(
    send: usize,
    receive: usize,
    count: u64,
    dtype: u32,
    op: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclAllReduce", |session| {
        let kind = Kind::AllReduce(Reduce { op, dtype });
        issue(
            session,
            Call {
                kind,
                peer: 0,
                send,
                receive,
                count,
                dtype,
            },
            communicator,
            stream,
        )
    })
}

/// `HcclReduceScatter`; `count` is what each rank receives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclReduceScatter(
    send: usize,
    receive: usize,
    count: u64,
    dtype: u32,
    op: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclReduceScatter", |session| {
        let kind = Kind::ReduceScatter(Reduce { op, dtype });
        issue(
            session,
            Call {
                kind,
                peer: 0,
                send,
                receive,
                count,
                dtype,
            },
            communicator,
            stream,
        )
    })
}

/// `HcclAllGather`; `count` is what each rank sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAllGather(
    send: usize,
    receive: usize,
    count: u64,
    dtype: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclAllGather", |session| {
        let kind = Kind::AllGather;
        issue(
            session,
            Call {
                kind,
                peer: 0,
                send,
                receive,
                count,
                dtype,
            },
            communicator,
            stream,
        )
    })
}

/// `HcclAlltoAll`; the counts are those for each peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAlltoAll(
    send: usize,
    send_count: u64,
    send_dtype: u32,
    receive: usize,
    receive_count: u64,
    receive_dtype: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclAlltoAll", |session| {
        if (send_count, send_dtype) != (receive_count, receive_dtype) {
            return Fault::err(
                code::PARAM_INVALID,
                "EI0003: both sides have one count and type",
            );
        }
        let (kind, count, dtype) = (Kind::AllToAll, send_count, send_dtype);
        issue(
            session,
            Call {
                kind,
                peer: 0,
                send,
                receive,
                count,
                dtype,
            },
            communicator,
            stream,
        )
    })
}

/// `HcclBroadcast`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclBroadcast(
    buffer: usize,
    count: u64,
    dtype: u32,
    root: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclBroadcast", |session| {
        let kind = Kind::Broadcast(root);
        let call = Call {
            kind,
            peer: 0,
            send: buffer,
            receive: buffer,
            count,
            dtype,
        };
        issue(session, call, communicator, stream)
    })
}

/// `HcclSend`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclSend(
    send: usize,
    count: u64,
    dtype: u32,
    peer: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclSend", |session| {
        let call = Call {
            kind: Kind::Send,
            peer,
            send,
            receive: 0,
            count,
            dtype,
        };
        issue(session, call, communicator, stream)
    })
}

/// `HcclRecv`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclRecv(
    receive: usize,
    count: u64,
    dtype: u32,
    peer: u32,
    communicator: usize,
    stream: usize,
) -> i32 {
    hccl("HcclRecv", |session| {
        let call = Call {
            kind: Kind::Receive,
            peer,
            send: 0,
            receive,
            count,
            dtype,
        };
        issue(session, call, communicator, stream)
    })
}
