//! The words of a report in the languages of its readers.

use serde_json::{Value, json};

/// The language of a report. What a result says itself (notes, sources) stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

macro_rules! words {
    ($($name:ident: $english:literal, $chinese:literal;)*) => {
        /// Words of a page; one field each, so that none can be forgotten in a language.
        #[derive(Debug)]
        pub(super) struct Words {
            pub(super) language: Language,
            $(pub(super) $name: &'static str,)*
        }

        const ENGLISH: Words = Words { language: Language::English, $($name: $english,)* };
        const CHINESE: Words = Words { language: Language::Chinese, $($name: $chinese,)* };
    };
}

words! {
    tag: "en", "zh-CN";
    report: "Report", "报告";
    theme: "Light or dark", "浅色/深色";
    step_takes: "The step takes", "单步耗时";
    faster: "faster", "快";
    slower: "slower", "慢";
    no_gain: "No gain", "没有收益";
    hangs: "The changed schedule hangs", "修改后的调度会挂死";
    samples: "90 % of samples", "90 % 的采样";
    no_range: "no range was asked for", "未计算范围";
    both_signs: "the range holds both a gain and a loss", "范围内收益与损失都有可能";
    input: "Input", "输入";
    built_in: "built-in example", "内置示例";
    schedule: "schedule", "调度";
    profile: "profile", "性能数据";
    change: "Change", "修改";
    ops_touched: "ops", "个算子";
    hash: "Content hash", "内容哈希";
    command: "To repeat it", "复现命令";
    tool: "Tool", "工具";
    summary: "Where the time goes", "时间去向";
    makespan: "makespan", "总耗时";
    first_task: "first device task at", "首个设备任务开始于";
    before: "Before", "修改前";
    after: "After", "修改后";
    difference: "difference", "差值";
    predicted: "Predicted", "预测";
    timeline: "Timeline", "时间线";
    tornado: "What carries the range", "范围由什么决定";
    parameter: "parameter", "参数";
    width: "width of the range", "范围宽度";
    source: "source", "来源";
    uncalibrated: "uncalibrated", "未校准";
    assumptions: "Assumptions", "假设";
    warnings: "Warnings", "警告";
    readings: "Other readings of the input", "对输入的其他解读";
    zoom_in: "Zoom in", "放大";
    zoom_out: "Zoom out", "缩小";
    earlier_button: "Earlier", "向前";
    later: "Later", "向后";
    fit: "Whole step", "全部";
    search: "Search op, name or tag", "搜索算子、名称或标签";
    previous: "Previous hit", "上一个";
    next: "Next hit", "下一个";
    show_path: "critical path", "关键路径";
    show_links: "event arrows", "事件箭头";
    show_engines: "engines", "引擎";
    details: "Selected op", "选中的算子";
    hint: "Click an op, or focus a timeline and use the arrow keys.", "点击一个算子，或聚焦时间线后使用方向键。";
    changed: "moved (solid) or altered (dashed)", "移动（实线）或更改（虚线）";
    keys: "Keys", "快捷键";
    key_zoom: "zoom", "缩放";
    key_pan: "pan", "平移";
    key_select: "select", "选择";
    key_enter: "zoom to the selection", "放大到选中项";
    key_fit: "whole step", "全部";
    key_search: "search", "搜索";
    key_hits: "next and previous hit", "下一个/上一个结果";
    key_wheel: "Ctrl + wheel", "Ctrl + 滚轮";
    key_drag: "drag", "拖动";
    broken: "The timeline could not be drawn: this browser lacks DecompressionStream (Chrome 80, Firefox 113, Safari 16.4).", "无法绘制时间线：浏览器不支持 DecompressionStream（需要 Chrome 80、Firefox 113、Safari 16.4 以上）。";
    no_script: "The timeline needs JavaScript.", "时间线需要 JavaScript。";
    waits_chain: "Each waits for the next", "依次互相等待";
    short_facts: "A saved result keeps no tags, links or host calls; `ascsim what-if --report` draws them.", "保存的结果不含标签、依赖和主机调用；`ascsim what-if --report` 可绘制它们。";
    op: "op", "算子";
    name: "name", "名称";
    kind: "kind", "类型";
    place: "place", "位置";
    rank: "rank", "rank";
    stream: "stream", "流";
    thread: "host thread", "主机线程";
    host: "host", "主机";
    start: "start", "开始";
    duration: "duration", "时长";
    provenance: "duration from", "时长来源";
    issued: "call made at", "下发于";
    earlier: "earlier", "之前";
    cores_wait: "waited for cores", "等待核";
    delay: "stated delay before it", "给定的延迟";
    critical: "on the critical path", "在关键路径上";
    no: "no", "否";
    cores: "cores", "核";
    moves: "moves", "搬运";
    tags: "tags", "标签";
    after_op: "waited for", "等待了";
    before_op: "waited for by", "被等待";
    compared: "compared", "对比";
    was: "before the change", "修改前";
    becomes: "after the change", "修改后";
    is_new: "new", "新增";
    is_gone: "removed", "已移除";
    nothing: "nothing found", "无结果";
    column: "category", "类别";
}

/// Names of categories, kinds and classes: as in results, and in Chinese.
const NAMES: [(&str, &str); 10] = [
    ("compute", "计算"),
    ("memory", "访存与拷贝"),
    ("collective", "集合通信"),
    ("wait on event", "等待事件"),
    ("wait on cores", "等待核"),
    ("launch", "下发"),
    ("gap", "间隙"),
    ("host", "主机"),
    ("external", "外部 rank"),
    ("unexplained", "未解释"),
];

const KINDS: [(&str, &str, &str); 21] = [
    ("kernel", "kernel", "核函数"),
    ("super_kernel", "super kernel", "SuperKernel"),
    ("group", "group", "任务组"),
    ("collective", "collective", "集合通信"),
    ("copy", "copy", "拷贝"),
    ("prefetch", "prefetch", "预取"),
    ("wait", "wait for an event", "等待事件"),
    ("record", "record of an event", "记录事件"),
    ("event_reset", "reset of an event", "复位事件"),
    ("notify_record", "record of a notify", "记录 notify"),
    ("notify_wait", "wait for a notify", "等待 notify"),
    ("value_write", "write of a word", "写值"),
    ("value_wait", "wait for a word", "等待值"),
    ("graph_launch", "graph launch", "图下发"),
    ("task_update", "task update", "任务更新"),
    ("host", "host op", "主机操作"),
    ("call", "call", "下发调用"),
    ("alloc", "allocation", "分配内存"),
    ("free", "release", "释放内存"),
    ("stream_use", "use on a stream", "流使用标记"),
    ("repeat", "repeat", "重复"),
];

const CLASSES: [(&str, &str, &str); 9] = [
    ("cube", "cube kernel (AIC)", "Cube 核函数（AIC）"),
    ("vector", "vector kernel (AIV)", "Vector 核函数（AIV）"),
    ("mix", "cube and vector kernel", "融合核函数（AIC+AIV）"),
    ("kernel", "other kernel", "其他核函数"),
    ("collective", "communication", "通信"),
    ("copy", "copy or prefetch", "拷贝或预取"),
    ("wait", "wait", "等待"),
    ("host", "host", "主机"),
    ("other", "other", "其他"),
];

impl Words {
    /// The words of a language.
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
        }
    }

    /// The name of a category of blame.
    pub(super) fn category<'a>(&self, name: &'a str) -> &'a str {
        let chinese = NAMES.iter().find(|(english, _)| *english == name);
        match (self.language, chinese) {
            (Language::Chinese, Some((_, chinese))) => chinese,
            _ => name,
        }
    }

    /// What the script of the page says.
    pub(super) fn script(&self) -> Value {
        let pick = |list: &[(&str, &str, &str)]| -> Value {
            let pairs = list.iter().map(|(key, english, chinese)| {
                let text = match self.language {
                    Language::English => english,
                    Language::Chinese => chinese,
                };
                ((*key).to_owned(), Value::from(*text))
            });
            Value::Object(pairs.collect())
        };
        let links = match self.language {
            Language::English => ["launch", "event", "notify", "value", "collective"],
            Language::Chinese => ["下发", "事件", "notify", "值", "集合通信"],
        };
        let engines = match self.language {
            Language::English => ["AIC", "AIV", "AICPU", "SDMA", "links"],
            Language::Chinese => ["AIC", "AIV", "AICPU", "SDMA", "链路"],
        };
        json!({
            "kinds": pick(&KINDS), "classes": pick(&CLASSES), "links": links, "engines": engines,
            "op": self.op, "name": self.name, "kind": self.kind, "place": self.place,
            "rank": self.rank, "stream": self.stream, "thread": self.thread, "host": self.host,
            "start": self.start, "duration": self.duration, "provenance": self.provenance,
            "issued": self.issued, "earlier": self.earlier, "cores_wait": self.cores_wait,
            "delay": self.delay, "critical": self.critical, "no": self.no, "cores": self.cores,
            "moves": self.moves, "tags": self.tags, "after_op": self.after_op,
            "before_op": self.before_op, "compared": self.compared, "was": self.was,
            "becomes": self.becomes, "is_new": self.is_new, "is_gone": self.is_gone,
            "nothing": self.nothing,
        })
    }
}
