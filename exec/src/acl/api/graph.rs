//! Graph capture and replay (facts/acl.md section 10).

use super::device::milliseconds;
use super::{Acl, AclError, Stream, call, handles};
use crate::acl::value;

handles! {
    /// A captured graph.
    Graph;
    /// Tasks of a graph that are updated together.
    TaskGroup;
}

/// What a capture forbids meanwhile, and whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphMode {
    /// All threads.
    Global = value::ACL_MODEL_RI_CAPTURE_MODE_GLOBAL as isize,
    /// This thread.
    ThreadLocal = value::ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL as isize,
    /// Nobody.
    Relaxed = value::ACL_MODEL_RI_CAPTURE_MODE_RELAXED as isize,
}

impl Acl {
    /// Begins a capture on its origin stream.
    pub fn begin_capture(&self, stream: &Stream, mode: GraphMode) -> Result<(), AclError> {
        call!(self, aclmdlRICaptureBegin(stream.as_raw(), mode as u32))
    }

    /// Ends a capture. After an error there is no graph, and the streams are free again.
    pub fn end_capture(&self, stream: &Stream) -> Result<Graph, AclError> {
        let mut graph = 0;
        call!(self, aclmdlRICaptureEnd(stream.as_raw(), &raw mut graph))?;
        Ok(Graph(graph))
    }

    /// Whether the stream is being captured (or its capture is invalid).
    pub fn is_capturing(&self, stream: &Stream) -> Result<bool, AclError> {
        let (mut status, mut graph) = (0, 0);
        call!(
            self,
            aclmdlRICaptureGetInfo(stream.as_raw(), &raw mut status, &raw mut graph)
        )?;
        Ok(status != value::ACL_MODEL_RI_CAPTURE_STATUS_NONE)
    }

    /// Sets what captures forbid this thread, and returns what was set.
    pub fn exchange_capture_mode(&self, mode: GraphMode) -> Result<GraphMode, AclError> {
        let mut mode = mode as u32;
        call!(self, aclmdlRICaptureThreadExchangeMode(&raw mut mode))?;
        Ok(match mode {
            value::ACL_MODEL_RI_CAPTURE_MODE_GLOBAL => GraphMode::Global,
            value::ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL => GraphMode::ThreadLocal,
            _ => GraphMode::Relaxed,
        })
    }

    /// Begins a group of tasks that can be updated, on a stream that is being captured.
    pub fn begin_task_group(&self, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclmdlRICaptureTaskGrpBegin(stream.as_raw()))
    }

    /// Ends a group of tasks.
    pub fn end_task_group(&self, stream: &Stream) -> Result<TaskGroup, AclError> {
        let mut group = 0;
        call!(
            self,
            aclmdlRICaptureTaskGrpEnd(stream.as_raw(), &raw mut group)
        )?;
        Ok(TaskGroup(group))
    }

    /// What is now queued on the stream replaces the tasks of the group.
    pub fn begin_task_update(&self, stream: &Stream, group: &TaskGroup) -> Result<(), AclError> {
        call!(
            self,
            aclmdlRICaptureTaskUpdateBegin(stream.as_raw(), group.0)
        )
    }

    /// Ends an update, for the next replay.
    pub fn end_task_update(&self, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclmdlRICaptureTaskUpdateEnd(stream.as_raw()))
    }

    /// Queues a replay of the graph.
    pub fn launch_graph(&self, graph: &Graph, stream: &Stream) -> Result<(), AclError> {
        call!(self, aclmdlRIExecuteAsync(graph.0, stream.as_raw()))
    }

    /// Replays the graph and waits for it, at most so many ms.
    pub fn execute_graph(&self, graph: &Graph, timeout_ms: Option<u32>) -> Result<(), AclError> {
        call!(self, aclmdlRIExecute(graph.0, milliseconds(timeout_ms)))
    }

    /// Destroys a graph. What it uses may be destroyed only afterwards.
    pub fn destroy_graph(&self, graph: Graph) -> Result<(), AclError> {
        call!(self, aclmdlRIDestroy(graph.0))
    }
}
