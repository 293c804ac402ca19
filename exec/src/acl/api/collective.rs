//! Collectives (facts/acl.md section 12). Codes are those of HCCL: 1 parameter, 5 not supported,
//! 9 time-out, 15 runtime.

use super::{Acl, AclError, DeviceMemory, Stream, argument, call, handles};
use crate::acl::raw::RootInfo;

handles! {
    /// One rank's end of a communicator.
    Communicator;
}

/// What rank 0 gives to the others so that they find it.
#[derive(Clone, Debug)]
pub struct Root(Box<RootInfo>);

impl Acl {
    /// The root info of a new communicator.
    pub fn root_info(&self) -> Result<Root, AclError> {
        let mut root = Box::new(RootInfo([0; 4108]));
        call!(self, HcclGetRootInfo(&raw mut *root))?;
        Ok(Root(root))
    }

    /// Joins a communicator; returns when all ranks have.
    pub fn join(&self, root: &Root, ranks: u32, rank: u32) -> Result<Communicator, AclError> {
        let mut communicator = 0;
        call!(
            self,
            HcclCommInitRootInfo(ranks, &raw const *root.0, rank, &raw mut communicator)
        )?;
        Ok(Communicator(communicator))
    }

    /// Makes a communicator of devices of this process, in the order of the ranks.
    pub fn communicators(&self, devices: &[u32]) -> Result<Vec<Communicator>, AclError> {
        let count = u32::try_from(devices.len())
            .map_err(|_| argument("HcclCommInitAll", "too many devices"))?;
        let mut devices: Vec<i32> = devices.iter().map(|device| device.cast_signed()).collect();
        let mut handles = vec![0; devices.len()];
        // Both vectors have `count` elements.
        call!(
            self,
            HcclCommInitAll(count, devices.as_mut_ptr(), handles.as_mut_ptr())
        )?;
        Ok(handles.into_iter().map(Communicator).collect())
    }

    /// Destroys one end of a communicator.
    pub fn destroy_communicator(&self, communicator: Communicator) -> Result<(), AclError> {
        call!(self, HcclCommDestroy(communicator.0))
    }

    /// Queues an AllReduce of `count` elements (`HcclDataType`, `HcclReduceOp`).
    #[expect(clippy::too_many_arguments, reason = "the shape of the C function")]
    pub fn all_reduce(
        &self,
        send: (&DeviceMemory, u64),
        receive: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        op: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "HcclAllReduce";
        let (send, receive) = (
            send.0.part(function, send.1, 0)?,
            receive.0.part(function, receive.1, 0)?,
        );
        call!(
            self,
            HcclAllReduce(
                send,
                receive,
                count,
                dtype,
                op,
                communicator.0,
                stream.as_raw()
            )
        )
    }

    /// Queues a ReduceScatter; `count` elements are received.
    #[expect(clippy::too_many_arguments, reason = "the shape of the C function")]
    pub fn reduce_scatter(
        &self,
        send: (&DeviceMemory, u64),
        receive: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        op: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "HcclReduceScatter";
        let (send, receive) = (
            send.0.part(function, send.1, 0)?,
            receive.0.part(function, receive.1, 0)?,
        );
        call!(
            self,
            HcclReduceScatter(
                send,
                receive,
                count,
                dtype,
                op,
                communicator.0,
                stream.as_raw()
            )
        )
    }

    /// Queues an AllGather; `count` elements are sent.
    pub fn all_gather(
        &self,
        send: (&DeviceMemory, u64),
        receive: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "HcclAllGather";
        let (send, receive) = (
            send.0.part(function, send.1, 0)?,
            receive.0.part(function, receive.1, 0)?,
        );
        call!(
            self,
            HcclAllGather(send, receive, count, dtype, communicator.0, stream.as_raw())
        )
    }

    /// Queues an AllToAll; `count` elements go to each peer.
    pub fn all_to_all(
        &self,
        send: (&DeviceMemory, u64),
        receive: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let function = "HcclAlltoAll";
        let (send, receive) = (
            send.0.part(function, send.1, 0)?,
            receive.0.part(function, receive.1, 0)?,
        );
        let (communicator, stream) = (communicator.0, stream.as_raw());
        call!(
            self,
            HcclAlltoAll(
                send,
                count,
                dtype,
                receive,
                count,
                dtype,
                communicator,
                stream
            )
        )
    }

    /// Queues a broadcast from the rank `root`.
    pub fn broadcast(
        &self,
        buffer: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        root: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let buffer = buffer.0.part("HcclBroadcast", buffer.1, 0)?;
        call!(
            self,
            HcclBroadcast(buffer, count, dtype, root, communicator.0, stream.as_raw())
        )
    }

    /// Queues a send to the rank `peer`.
    pub fn send(
        &self,
        from: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        peer: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let from = from.0.part("HcclSend", from.1, 0)?;
        call!(
            self,
            HcclSend(from, count, dtype, peer, communicator.0, stream.as_raw())
        )
    }

    /// Queues a receive from the rank `peer`.
    pub fn receive(
        &self,
        to: (&DeviceMemory, u64),
        count: u64,
        dtype: u32,
        peer: u32,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Result<(), AclError> {
        let to = to.0.part("HcclRecv", to.1, 0)?;
        call!(
            self,
            HcclRecv(to, count, dtype, peer, communicator.0, stream.as_raw())
        )
    }

    /// Queues a barrier.
    pub fn barrier(&self, communicator: &Communicator, stream: &Stream) -> Result<(), AclError> {
        call!(self, HcclBarrier(communicator.0, stream.as_raw()))
    }
}
