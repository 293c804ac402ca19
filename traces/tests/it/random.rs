//! Random traces, as the readers could have made them.

use std::collections::{BTreeMap, BTreeSet};

use ascsim_traces::Trace;
use ascsim_traces::model::{
    Collective, CommTimes, DeviceTask, Engine, HostCall, HostKind, HostPoint, KernelDetail, Name,
    OracleLane, OracleSpan, PlaneKind, PlaneTask, Pmu, Step, StepTrace, TaskKind,
};
use ascsim_traces::time::Span;
use ascsim_traces::write::Form;

/// A small generator of its own, so that a case is a number.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn flip(&mut self) -> bool {
        self.next() & 1 == 0
    }

    fn maybe(&mut self, end: u64) -> Option<u32> {
        self.flip().then(|| self.below(end) as u32)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// A name with what makes trouble in JSON and CSV.
    fn name(&mut self) -> String {
        let parts = [
            "MatMul",
            "aten::add",
            "\"",
            ",",
            "\\",
            " ",
            "é",
            "名",
            "\n",
            "{",
            "]",
            "'",
            "\u{1}",
        ];
        let count = self.below(4);
        let middle: String = (0..count).map(|_| *self.pick(&parts)).collect();
        format!("k{middle}{}", self.below(1000))
    }

    fn span(&mut self) -> Span {
        let start = self.below(20_000) as i64;
        let end = start + self.below(3_000) as i64;
        Span { start, end }
    }

    fn ratio(&mut self) -> Option<f64> {
        self.flip().then(|| self.next() as f64 / u64::MAX as f64)
    }

    fn ns(&mut self) -> Option<i64> {
        self.flip().then(|| self.below(1 << 40) as i64)
    }
}

const KERNELS: [&str; 5] = [
    "AI_CORE",
    "AI_VECTOR_CORE",
    "MIX_AIC",
    "KERNEL_AIVEC",
    "AI_CPU",
];

/// Types that mean the same as a name.
const OTHERS: [&str; 10] = [
    "EVENT_RECORD",
    "EVENT_WAIT",
    "EVENT_RESET",
    "Notify Wait",
    "Write Value",
    "SDMA",
    "MEMCPY_ASYNC",
    "PLACE_HOLDER_SQE",
    "PROFILING_ENABLE",
    "Something",
];

const CORES: [Engine; 6] = [
    Engine::Aic,
    Engine::Aiv,
    Engine::MixAic,
    Engine::MixAiv,
    Engine::AiCpu,
    Engine::Dsa,
];

/// Makes a trace of about `size` rows of each kind that `form` can hold.
pub(crate) fn trace(seed: u64, size: u64, form: Form) -> Trace {
    let mut random = Random(seed);
    let mut trace = Trace {
        epoch_ns: 1_700_000_000_000_000_000 + random.below(1 << 50) as i64,
        ..Trace::default()
    };
    host(&mut trace, &mut random, size);
    tasks(&mut trace, &mut random, size, form);
    collectives(&mut trace, &mut random, size, form);
    planes(&mut trace, &mut random);
    links(&mut trace, &mut random, form);
    meta(&mut trace, &mut random, form);
    // The epoch is the earliest row.
    let starts = trace.tasks.iter().map(|task| task.span.start);
    let host = trace.host.iter().map(|call| call.span.start);
    let ops = trace.collectives.iter().map(|op| op.span.start);
    let first = starts.chain(host).chain(ops).min().unwrap();
    shift(&mut trace, first);
    trace
}

/// Moves the zero of a trace to `first`.
fn shift(trace: &mut Trace, first: i64) {
    trace.epoch_ns += first;
    let spans = trace.tasks.iter_mut().map(|task| &mut task.span);
    let spans = spans
        .chain(trace.host.iter_mut().map(|call| &mut call.span))
        .chain(trace.collectives.iter_mut().map(|op| &mut op.span))
        .chain(trace.planes.iter_mut().map(|plane| &mut plane.span))
        .chain(trace.steps.iter_mut().map(|step| &mut step.span))
        .chain(trace.oracle.overlap.iter_mut().map(|row| &mut row.span));
    for span in spans {
        span.start -= first;
        span.end -= first;
    }
    for task in &mut trace.tasks {
        if let Some(launch) = &mut task.launch {
            launch.at -= first;
        }
    }
}

fn host(trace: &mut Trace, random: &mut Random, size: u64) {
    let mut starts = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    for _ in 0..random.below(size + 1) {
        let kinds = [
            (HostKind::Acl, "AscendCL@"),
            (HostKind::Runtime, "Runtime@"),
            (HostKind::Node, "Node@"),
            (HostKind::Model, "Model@"),
            (HostKind::Hccl, "Hccl@"),
            (HostKind::OtherCann, ""),
            (HostKind::FrameworkOp, ""),
            (HostKind::Annotation, ""),
            (HostKind::Annotation, "ProfilerStep#"),
            (HostKind::Enqueue, "Enqueue@"),
            (HostKind::Dequeue, "Dequeue@"),
        ];
        let (kind, prefix) = *random.pick(&kinds);
        let (span, thread) = (random.span(), random.below(4) + (1 << 20));
        let is_queue = matches!(kind, HostKind::Enqueue | HostKind::Dequeue);
        if !starts.insert((thread, span.start)) {
            continue;
        }
        let name = if prefix == "ProfilerStep#" {
            let number = random.below(100) as u32;
            if !numbers.insert(number) {
                continue;
            }
            trace.steps.push(Step { number, span });
            format!("{prefix}{number}")
        } else {
            format!("{prefix}{}", random.name())
        };
        let id = random.flip().then(|| random.below(1 << 40));
        trace.host.push(HostCall {
            kind,
            name: trace.names.intern(&name),
            thread,
            span,
            connection: id.filter(|_| kind.is_cann()),
            correlation: id.filter(|_| is_queue),
        });
    }
    // A step that no call marks.
    let number = 200 + random.below(3) as u32;
    if random.flip() {
        let span = random.span();
        trace.steps.push(Step { number, span });
    }
    trace
        .steps
        .sort_by_key(|step| (step.span.start, step.number));
    trace
        .host
        .sort_by_key(|call| (call.span.start, -call.span.len(), call.thread, call.kind));
}

fn connection(random: &mut Random) -> Option<u64> {
    random.flip().then(|| 1 + (random.below(8) << 55))
}

fn tasks(trace: &mut Trace, random: &mut Random, size: u64, form: Form) {
    let mut places = BTreeSet::new();
    for number in 0..random.below(size) + 1 {
        let span = random.span();
        let stream = random.below(4) as u32;
        if !places.insert((stream, span.start)) {
            continue;
        }
        let is_kernel = random.flip();
        let task_type = *match is_kernel {
            true => random.pick(&KERNELS),
            false => random.pick(&OTHERS),
        };
        // Databases have one text for tasks that are no kernel.
        let name = match (is_kernel, form) {
            (true, _) => format!("{}.{number}", random.name()),
            (false, Form::Database) => task_type.to_owned(),
            (false, Form::Text) => match random.below(3) {
                0 => "EVENT_RECORD".to_owned(),
                _ => random.name(),
            },
        };
        let context = random.maybe(3);
        // In a database, a task around its contexts is their parent.
        let apart = if context.is_some() { 100 } else { 0 };
        let task = random.maybe(6).map(|task| task + apart);
        let context = context.filter(|_| task.is_some());
        let kind = TaskKind::of(task_type, &name);
        trace.tasks.push(DeviceTask {
            name: trace.names.intern(&name),
            task_type: trace.names.intern(task_type),
            kind,
            engine: Engine::of_task_type(task_type, kind),
            stream,
            task,
            context,
            model: random.maybe(5),
            span,
            connection: connection(random),
            launch: None,
            framework_op: None,
            detail: None,
            event: None,
        });
    }
    trace
        .tasks
        .sort_by_key(|task| (task.span.start, task.stream, task.task, task.context));
    for at in 0..trace.tasks.len() {
        let is_kernel = trace.tasks[at].kind == TaskKind::Kernel;
        if !is_kernel || (form == Form::Text && random.flip()) {
            continue;
        }
        let mut text = |random: &mut Random| {
            let text = random.flip().then(|| format!("{};16,3", random.below(100)));
            text.map(|text| trace.names.intern(&text))
        };
        let detail = KernelDetail {
            step: random.maybe(9).filter(|_| form == Form::Text),
            input_shapes: text(random),
            input_types: text(random),
            output_shapes: text(random),
            output_types: text(random),
            op_type: text(random).unwrap_or_default(),
            block_dim: random.maybe(50),
            mix_block_dim: random.maybe(50),
            pmu: Pmu {
                aic_ns: random.ns(),
                aiv_ns: random.ns(),
                aic_mac_ratio: random.ratio(),
                aic_mte2_ratio: random.ratio(),
                aiv_vec_ratio: random.ratio(),
                aiv_mte2_ratio: random.ratio(),
                aiv_mte3_ratio: random.ratio(),
            },
        };
        let task = &mut trace.tasks[at];
        if random.flip() {
            task.engine = *random.pick(&CORES);
        }
        task.detail = Some(trace.details.len() as u32);
        trace.details.push(detail);
    }
}

fn collectives(trace: &mut Trace, random: &mut Random, size: u64, form: Form) {
    let groups = random.below(4);
    let mut places = BTreeSet::new();
    for group in 0..groups {
        let lane = trace.names.intern(&format!("Group {group} Communication"));
        let id = random.flip() || form == Form::Text;
        let id = id.then(|| trace.names.intern(&format!("10.0.0.1%eth{group}")));
        for number in 0..random.below(size / 2 + 1) + 1 {
            let span = random.span();
            if !places.insert((group, span.start)) {
                continue;
            }
            // Only the communication times name the group in text.
            let timed = random.flip();
            let times = CommTimes {
                elapse_ns: random.below(1 << 40) as i64,
                transit_ns: random.below(1 << 40) as i64,
                wait_ns: random.below(1 << 20) as i64,
                synchronization_ns: random.below(1 << 10) as i64,
                idle_ns: -(random.below(1 << 30) as i64),
            };
            let times = Some(times).filter(|_| timed && id.is_some());
            let name = format!("hcom_allReduce__{group}_{number}_\"{}", random.below(9));
            let mut text = |random: &mut Random, list: &[&str]| {
                let text = random.flip().then(|| *random.pick(list));
                text.map(|text| trace.names.intern(text))
            };
            trace.collectives.push(Collective {
                group: lane,
                group_id: id.filter(|_| form == Form::Database || times.is_some()),
                connection: connection(random),
                model: random.maybe(5),
                algorithm: text(random, &["MESH-RING", "HD"]),
                data_type: text(random, &["FP32", "BFP16", "FP4_NEW"]),
                count: random.flip().then(|| random.below(1 << 60)),
                span,
                framework_op: None,
                times,
                name: trace.names.intern(&name),
            });
        }
    }
    let names = &trace.names;
    trace
        .collectives
        .sort_by_key(|op| (op.span.start, names.get(op.group).to_owned()));
}

fn planes(trace: &mut Trace, random: &mut Random) {
    let lanes: BTreeSet<String> = trace
        .collectives
        .iter()
        .map(|op| trace.names.get(op.group).to_owned())
        .collect();
    let lanes: Vec<String> = lanes.into_iter().collect();
    if lanes.is_empty() {
        return;
    }
    let mut planes = Vec::new();
    for at in 0..trace.tasks.len() {
        let task = trace.tasks[at].clone();
        if task.kind == TaskKind::Kernel || random.flip() {
            continue;
        }
        let lane = random.pick(&lanes).clone();
        let name = *random.pick(&[
            "Memcpy",
            "Reduce_Inline",
            "Notify_Record",
            "Notify_Wait",
            "RDMASend",
        ]);
        let kind = PlaneKind::of(name);
        let is_notify = matches!(kind, PlaneKind::NotifyRecord | PlaneKind::NotifyWait);
        let number = random.below(3) as u32;
        let group = trace.names.intern(&lane);
        let holds = |op: &&Collective| {
            op.group == group && op.span.start <= task.span.start && task.span.end <= op.span.end
        };
        let same = |op: &Collective| task.connection.is_some() && op.connection == task.connection;
        let all = || trace.collectives.iter().enumerate();
        let collective = if all().any(|(_, op)| same(op)) {
            all().find(|(_, op)| same(op) && holds(op))
        } else {
            all().rfind(|(_, op)| holds(op))
        };
        let collective = collective.map(|(index, _)| index as u32);
        let mut text = |random: &mut Random, list: &[&str]| {
            let text = random.flip().then(|| *random.pick(list));
            text.map(|text| trace.names.intern(text))
        };
        let plane = PlaneTask {
            transport: text(random, &["SDMA", "LOCAL", "RDMA", "UB"]),
            link: text(random, &["HCCS", "SIO", "ON_CHIP", "NEW"]),
            kind,
            name: trace.names.intern(name),
            group,
            plane: number,
            notify: random
                .flip()
                .then(|| random.below(1 << 62))
                .filter(|_| is_notify),
            source: random.maybe(8),
            destination: random.maybe(8),
            bytes: random.flip().then(|| random.below(1 << 60)),
            stream: task.stream,
            task: task.task,
            context: task.context,
            span: task.span,
            device_task: Some(at as u32),
            collective,
        };
        planes.push(((task.span.start, lane, number, task.stream), plane));
    }
    planes.sort_by(|(a, _), (b, _)| a.cmp(b));
    trace.planes = planes.into_iter().map(|(_, plane)| plane).collect();
}

/// Links to the host, one for each connection id.
fn links(trace: &mut Trace, random: &mut Random, form: Form) {
    let ops: Vec<u32> = (0..trace.host.len() as u32)
        .filter(|op| {
            let kind = trace.host[*op as usize].kind;
            matches!(kind, HostKind::FrameworkOp | HostKind::Annotation)
        })
        .collect();
    let mut known: BTreeMap<u64, (Option<u32>, Option<HostPoint>)> = BTreeMap::new();
    let mut link = |connection: Option<u64>| {
        let Some(connection) = connection else {
            return (None, None);
        };
        *known.entry(connection).or_insert_with(|| {
            let op = (!ops.is_empty() && random.flip()).then(|| *random.pick(&ops));
            let launch = random.flip().then(|| HostPoint {
                thread: random.below(4),
                at: random.below(20_000) as i64,
            });
            (op, launch.filter(|_| form == Form::Text))
        })
    };
    for task in &mut trace.tasks {
        (task.framework_op, task.launch) = link(task.connection);
    }
    for op in &mut trace.collectives {
        op.framework_op = link(op.connection).0;
    }
}

fn meta(trace: &mut Trace, random: &mut Random, form: Form) {
    let mut text = |text: &str| random.flip().then(|| text.to_owned());
    trace.meta.level = text("Level1");
    trace.meta.aic_metrics = text("ACL_AICORE_PIPE_UTILIZATION");
    trace.meta.cann = text("9.0 \"beta\"");
    trace.meta.torch_npu = text("2.7.1");
    trace.meta.device = text("NPU 3");
    let settings = [
        ("record_shapes", "true"),
        ("with_stack", "false"),
        ("export_type", "[\"db\"]"),
        ("MASTER_ADDR", "10.1.1.1"),
        ("HCCL_\"", "1\n2"),
        ("npu_info", "Ascend910B"),
    ];
    for (key, value) in settings {
        if (key != "npu_info" || form == Form::Database)
            && let Some(value) = text(value)
        {
            trace.meta.settings.push((key.to_owned(), value));
        }
    }
    if form == Form::Database {
        let version = ("schema_version".to_owned(), "1.0.0".to_owned());
        trace.meta.settings.push(version);
    }
    trace.meta.l2_cache = random.flip().then(|| random.flip());
    trace.meta.rank = random.maybe(20);
    trace.meta.core_mhz = random.flip().then_some((800, 1850));
    for _ in 0..random.below(3) {
        let mut ns = || random.below(1 << 40) as i64;
        let row = StepTrace {
            computing_ns: ns(),
            not_overlapped_ns: ns(),
            overlapped_ns: ns(),
            communication_ns: ns(),
            free_ns: -ns(),
            stage_ns: ns(),
            step: random.maybe(100),
        };
        trace.oracle.step_trace.push(row);
    }
    if form == Form::Text {
        for lane in [OracleLane::Computing, OracleLane::NotOverlapped] {
            let span = random.span();
            trace.oracle.overlap.push(OracleSpan { lane, span });
        }
    }
}

/// All of a trace as text, so that traces with different tables of names compare.
pub(crate) fn view(trace: &Trace) -> Vec<String> {
    let name = |name: Name| trace.name(name).to_owned();
    let maybe = |name: Option<Name>| name.map(|name| trace.name(name).to_owned());
    let op = |op: Option<u32>| {
        let call = op.map(|op| &trace.host[op as usize]);
        call.map(|call| (call.thread, call.span, name(call.name)))
    };
    let mut rows = vec![format!("epoch {}", trace.epoch_ns)];
    for task in &trace.tasks {
        let detail = task.detail.map(|detail| {
            let own = &trace.details[detail as usize];
            let texts = [
                own.input_shapes,
                own.input_types,
                own.output_shapes,
                own.output_types,
            ];
            (
                own.step,
                name(own.op_type),
                own.block_dim,
                own.mix_block_dim,
                texts.map(maybe),
                own.pmu,
            )
        });
        rows.push(format!(
            "task {:?} {:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?} {:?} op {:?} {detail:?}",
            name(task.name),
            name(task.task_type),
            task.kind,
            task.engine,
            task.stream,
            task.task,
            task.context,
            task.model,
            task.span,
            task.connection,
            task.launch,
            op(task.framework_op),
        ));
    }
    for call in &trace.host {
        rows.push(format!(
            "call {:?} {:?} {} {:?} {:?} {:?}",
            call.kind,
            name(call.name),
            call.thread,
            call.span,
            call.connection,
            call.correlation
        ));
    }
    for own in &trace.collectives {
        rows.push(format!(
            "collective {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} op {:?} {:?}",
            name(own.name),
            name(own.group),
            maybe(own.group_id),
            own.connection,
            own.model,
            maybe(own.algorithm),
            maybe(own.data_type),
            own.count,
            own.span,
            op(own.framework_op),
            own.times
        ));
    }
    for own in &trace.planes {
        rows.push(format!(
            "plane {:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?}",
            own.kind,
            name(own.name),
            name(own.group),
            own.plane,
            own.notify,
            own.source,
            own.destination,
            own.bytes,
            maybe(own.transport),
            maybe(own.link),
            own.stream,
            own.task,
            own.context,
            own.span,
            own.device_task,
            own.collective
        ));
    }
    rows.extend(trace.steps.iter().map(|step| format!("{step:?}")));
    rows.extend(trace.oracle.step_trace.iter().map(|row| format!("{row:?}")));
    rows.extend(trace.oracle.overlap.iter().map(|row| format!("{row:?}")));
    let mut meta = trace.meta.clone();
    // The form says itself what it is, and settings come in the order of its files.
    meta.source.clear();
    meta.settings.sort();
    rows.push(format!("{meta:?}"));
    rows
}
