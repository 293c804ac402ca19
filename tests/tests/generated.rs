//! Generated schedules against the op inventory.

use std::collections::BTreeMap;
use std::fs;

use ascsim_schedules::generate::{CommMethod, Counts, Phase, Request, STACKS, Weights, generate};
use ascsim_schedules::{Op, Schedule};
use ascsim_tests::shared;
use serde_json::Value;

/// What the inventory lists for one sequence: per component, per op, how often in a step.
type Listed = BTreeMap<String, BTreeMap<String, i64>>;

fn listed(inventory: &Value, sequence: &str, rows: &str) -> Listed {
    let parts = &inventory["sequences"][sequence]["parts"];
    let mut listed = Listed::new();
    for part in parts.as_array().expect("parts are a list") {
        let component = part["component"].as_str().expect("it has a name");
        // One draft step where the count is `k`.
        let instances = part["count_per_step"].as_i64().unwrap_or(1);
        for op in part["ops"].as_array().expect("ops are a list") {
            let name = plain(op["op"].as_str().expect("it has a name"));
            let count = op[rows].as_i64().expect("a count") * instances;
            let counts = listed.entry(component.to_owned()).or_default();
            *counts.entry(name).or_default() += count;
        }
    }
    listed
}

/// The name that both sides have for an op of the inventory.
fn plain(name: &str) -> String {
    let plain = match name {
        "MatMulV2/MatMulV3" => "MatMulV2",
        "reshape_and_cache"
        | "reshape_and_cache (ATB)"
        | "reshape_and_cache (ATB, ReshapeAndCacheNdKernel)" => "ReshapeAndCacheNdKernel",
        "mla_preprocess (MLAPO)" => "mla_preprocess",
        "MemcpyD2D(aclnnInplaceCopy)" => "copy device_to_device",
        "MemcpyH2D" => "copy host_to_device",
        "MemcpyD2H" => "copy device_to_host",
        "hcom_allReduce_" | "hcom_reduceScatter_ / allReduce" => "collective all_reduce",
        "hcom_allGather_" => "collective all_gather",
        "hcom_reduceScatter_" => "collective reduce_scatter",
        event if event.starts_with("record") || event.starts_with("wait") => "event",
        event if event.starts_with("ExternalEvent") => "event",
        sync if sync.starts_with("main-stream synchronize") => "synchronise",
        other => other,
    };
    plain.to_owned()
}

/// What a schedule issues in the parts `names`.
fn issued(schedule: &Schedule, names: &[&str]) -> BTreeMap<String, i64> {
    let ops = schedule.programs.iter().flat_map(|program| &program.ops);
    let mine = |op: &&Op| {
        op.tags
            .get("part")
            .is_some_and(|part| names.contains(&part))
    };
    let counts = Counts::of_ops(ops.filter(mine));
    let mut issued = BTreeMap::new();
    for (prefix, counts) in [
        ("", &counts.kernels),
        ("copy ", &counts.copies),
        ("collective ", &counts.collectives),
    ] {
        for (name, count) in counts {
            let count = i64::try_from(*count).expect("few");
            *issued.entry(format!("{prefix}{name}")).or_default() += count;
        }
    }
    if counts.events > 0 {
        issued.insert(
            "event".to_owned(),
            i64::try_from(counts.events).expect("few"),
        );
    }
    issued
}

/// The parts of a generated schedule that a component of the inventory is.
fn parts(component: &str) -> &'static [&'static str] {
    match component {
        "embedding" => &["embedding"],
        "gdn_mixer" => &["gdn_mixer", "gdn_mixer_prefill"],
        "full_attention" => &["full_attention"],
        "dense_layer" => &["attention", "dense_mlp"],
        "attention" => &["attention", "attention_w8a8"],
        "moe" => &[
            "moe",
            "moe_mc2",
            "moe_w8a8",
            "mla_moe_mc2",
            "mla_moe_fused_mc2",
            "moe_flashcomm",
        ],
        "mla" => &["mla", "mla_mlapo", "mla_flashcomm"],
        "mla_prefill" => &["mla_prefill"],
        "dense_mlp" => &["mla_dense_mlp", "dense_mlp_flashcomm"],
        "final_norm" => &["final_norm"],
        "lm_head" => &["lm_head"],
        "sampler_greedy" => &["sampler"],
        "mtp_head_in" => &["mtp_head_in"],
        "mtp_logits" => &["mtp_logits"],
        "mtp_in" => &["mtp_in"],
        "mtp_out" => &["mtp_out"],
        other => panic!("the inventory has a component `{other}` that no part is"),
    }
}

/// A sequence, the request that generates it, and what differs in the first layer, which the
/// inventory counts like the others and describes beside (`extras.layer0`).
struct Case {
    sequence: &'static str,
    request: Request,
    first_layer: &'static [(&'static str, &'static str, i64)],
    /// Components to compare; all if empty.
    only: &'static [&'static str],
}

const HYBRID: &[(&str, &str, i64)] = &[
    ("gdn_mixer", "GemmaRmsNorm", 1),
    ("gdn_mixer", "Add", -1),
    ("gdn_mixer", "AddRmsNormBias", -1),
];
const DENSE: &[(&str, &str, i64)] = &[
    ("dense_layer", "RmsNorm", 1),
    ("dense_layer", "AddRmsNormBias", -1),
];
const EXPERTS: &[(&str, &str, i64)] = &[
    ("attention", "RmsNorm", 1),
    ("attention", "AddRmsNormBias", -1),
];
const EXPERTS_W8A8: &[(&str, &str, i64)] = &[
    ("attention", "RmsNorm", 1),
    ("attention", "AscendQuantV2", 1),
    ("attention", "AddRmsNormQuant", -1),
];
const MLA: &[(&str, &str, i64)] = &[
    ("mla", "RmsNorm", 1),
    ("mla", "Add", 1),
    ("mla", "AddRmsNormBias", -1),
];
const MLA_NO_BIAS: &[(&str, &str, i64)] = &[("mla", "RmsNorm", 1), ("mla", "AddRmsNormBias", -1)];

fn cases() -> Vec<Case> {
    let qwen35 = || Request {
        tp: 2,
        ..Request::new("qwen3.5-35b-a3b")
    };
    let thirty = || Request {
        tp: 2,
        ..Request::new("qwen3-30b-a3b")
    };
    let deepseek = || Request {
        dp: 16,
        ep: 16,
        ..Request::new("deepseek-v3")
    };
    let case = |sequence, request, first_layer| Case {
        sequence,
        request,
        first_layer,
        only: &[],
    };
    vec![
        case("qwen3.5-35b-a3b/decode/bf16/tp2", qwen35(), HYBRID),
        case(
            "qwen3.5-35b-a3b/decode/bf16/tp2/overlap",
            Request {
                overlap: true,
                ..qwen35()
            },
            &[],
        ),
        case(
            "qwen3.5-35b-a3b/decode/bf16/tp2-ep2",
            Request { ep: 2, ..qwen35() },
            &[],
        ),
        case("qwen3-8b/decode/bf16", Request::new("qwen3-8b"), DENSE),
        case(
            "qwen3-32b/decode/bf16",
            Request {
                tp: 8,
                ..Request::new("qwen3-32b")
            },
            DENSE,
        ),
        case("qwen3-30b-a3b/decode/bf16", thirty(), EXPERTS),
        case(
            "qwen3-30b-a3b/decode/w8a8",
            Request {
                weights: Some(Weights::W8a8),
                ..thirty()
            },
            EXPERTS_W8A8,
        ),
        case("deepseek-v3/decode/w8a8/mc2-tp1", deepseek(), MLA),
        case(
            "deepseek-v3/decode/w8a8/mc2-tp8",
            Request {
                tp: 8,
                dp: 2,
                ..deepseek()
            },
            MLA,
        ),
        case(
            "deepseek-v3/decode/w8a8/fusedmc2-tp1-mlapo",
            Request {
                comm: Some(CommMethod::FusedMc2),
                mlapo: true,
                ..deepseek()
            },
            MLA,
        ),
        Case {
            // The final norm of the list works on gathered rows; the rest is compared below.
            only: &["mla", "dense_mlp", "moe", "final_norm"],
            ..case(
                "deepseek-v3/decode/w8a8/v0.15-trace",
                Request {
                    tp: 8,
                    dp: 2,
                    stack: STACKS[2].to_owned(),
                    ..deepseek()
                },
                MLA,
            )
        },
        case(
            "kimi-k2/decode/w8a8/mc2-tp1",
            Request {
                model: "kimi-k2".to_owned(),
                ..deepseek()
            },
            MLA_NO_BIAS,
        ),
        Case {
            // Eager: nothing is captured, so no external event is waited for.
            only: &["gdn_mixer", "moe"],
            ..case(
                "qwen3.5-35b-a3b/prefill/bf16/tp2",
                Request {
                    phase: Phase::Prefill,
                    ..qwen35()
                },
                HYBRID,
            )
        },
        case(
            "deepseek-v3/prefill/w8a8",
            // A chunk with context before it reads the cache too; without, one kernel less.
            Request {
                tp: 8,
                dp: 2,
                phase: Phase::Prefill,
                context: 128,
                ..deepseek()
            },
            &[("mla_prefill", "PagedCacheLoadNdKernel", -61)],
        ),
    ]
}

#[test]
fn each_sequence_of_the_inventory_is_issued_op_by_op() {
    let Some(shared) = shared() else { return };
    let text = fs::read(shared.join("facts/op-inventory.json")).expect("it is there");
    let inventory: Value = serde_json::from_slice(&text).expect("JSON");
    let mut compared = 0;
    for case in cases() {
        for (batch, rows) in [(1, "count_T1"), (4, "count_Tgt1")] {
            let request = Request {
                batch,
                ..case.request.clone()
            };
            // A prefill of one prompt has many rows; copies of many rows are kernels.
            if request.phase == Phase::Prefill && batch == 1 {
                continue;
            }
            let generated = generate(&request).expect("it is known");
            let mut listed = listed(&inventory, case.sequence, rows);
            listed.remove("prep_eager");
            for (component, op, more) in case.first_layer {
                *listed
                    .entry((*component).to_owned())
                    .or_default()
                    .entry((*op).to_owned())
                    .or_default() += more;
            }
            for (component, mut expected) in listed {
                if !case.only.is_empty() && !case.only.contains(&component.as_str()) {
                    continue;
                }
                expected.retain(|_, count| *count != 0);
                let issued = issued(&generated.schedule, parts(&component));
                let what = format!("{} {component}, batch {batch}", case.sequence);
                assert_eq!(issued, expected, "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 60, "only {compared} components were compared");
}

#[test]
fn input_preparation_has_the_copies_and_kernels_of_the_inventory() {
    let Some(shared) = shared() else { return };
    let text = fs::read(shared.join("facts/op-inventory.json")).expect("it is there");
    let inventory: Value = serde_json::from_slice(&text).expect("JSON");
    for case in cases() {
        let first = &inventory["sequences"][case.sequence]["parts"][0]["component"];
        if first.as_str() != Some("prep_eager") {
            continue;
        }
        let generated = generate(&case.request).expect("it is known");
        let mut expected = listed(&inventory, case.sequence, "count_T1")
            .remove("prep_eager")
            .expect("it is there");
        expected.remove("synchronise");
        let mut issued = issued(
            &generated.schedule,
            &["input_preparation", "inputs_embeds", "output_copy"],
        );
        // The copy of the tokens waits for the sampler on a stream of its own.
        assert_eq!(issued.remove("event"), Some(2));
        assert_eq!(issued, expected, "{}", case.sequence);
    }
}

#[test]
fn draft_steps_and_the_older_stack_are_those_of_the_inventory() {
    let Some(shared) = shared() else { return };
    let text = fs::read(shared.join("facts/op-inventory.json")).expect("it is there");
    let inventory: Value = serde_json::from_slice(&text).expect("JSON");
    let drafts = [
        (
            "qwen3.5-35b-a3b/decode/bf16/tp2/mtp",
            Request {
                tp: 2,
                speculative: 1,
                ..Request::new("qwen3.5-35b-a3b")
            },
        ),
        (
            // Its parts are those of one rank, and its collective is that of several.
            "deepseek-v3/decode/w8a8/mtp",
            Request {
                dp: 16,
                ep: 16,
                speculative: 1,
                ..Request::new("deepseek-v3")
            },
        ),
    ];
    for (sequence, request) in drafts {
        let generated = generate(&request).expect("it is known");
        let draft = generated
            .schedule
            .programs
            .iter()
            .find(|p| p.name.as_str() == "draft");
        let counts = Counts::of_program(draft.expect("it has a draft"));
        // The first draft step sees two rows and samples one.
        let total = |rows: &str| -> i64 {
            let listed = listed(&inventory, sequence, rows);
            let kernels = listed.values().flatten();
            kernels
                .filter(|(name, _)| !name.contains(' ') && *name != "event")
                .map(|(_, count)| count)
                .sum()
        };
        let kernels = i64::try_from(counts.all_kernels()).expect("few");
        assert!(
            (total("count_T1")..=total("count_Tgt1")).contains(&kernels),
            "{sequence}: {kernels}"
        );
    }
    let older = |stack: &str| {
        let request = Request {
            tp: 2,
            stack: stack.to_owned(),
            ..Request::new("qwen3.5-35b-a3b")
        };
        Counts::of_schedule(&generate(&request).expect("it is known").schedule)
    };
    let (new, old) = (older(STACKS[0]), older(STACKS[1]));
    assert_eq!(old.all_kernels() - new.all_kernels(), 60);
    assert_eq!(old.events - new.events, 60);
    assert_eq!((new.updates, old.updates), (10, 40));
}

#[test]
fn the_capture_of_deepseek_has_these_ops() {
    // facts/op-inventory.md section 13: five steps of the published A3 aggregate.
    let request = Request {
        tp: 8,
        dp: 2,
        ep: 16,
        batch: 4,
        stack: STACKS[2].to_owned(),
        ..Request::new("deepseek-v3")
    };
    let schedule = generate(&request).expect("it is known").schedule;
    let kept = |op: &&Op| {
        // Of the capture only the number of kernels of the input preparation is known.
        op.tags.get("part") != Some("input_preparation")
    };
    let ops = schedule.programs.iter().flat_map(|program| &program.ops);
    let counts = Counts::of_ops(ops.filter(kept));
    for (kernel, in_five_steps) in [
        ("QuantBatchMatmulV3", 1_525),
        ("FusedInferAttentionScore", 305),
        ("AscendQuantV2", 915),
        ("AddRmsNormBias", 595),
        ("DynamicQuant", 595),
        ("RmsNorm", 310),
        ("Add", 600),
        ("AsStrided", 305),
        ("Slice", 305),
        ("InterleaveRope", 305),
        ("KvRmsNormRopeCache", 305),
        ("TransData", 305),
        ("BatchMatMulV2", 305),
        ("TransposeBatchMatMul", 305),
        ("SwiGlu", 305),
        ("Transpose", 310),
        ("MatMulV2", 295),
        ("MoeGatingTopK", 290),
        ("DispatchFFNCombine", 290),
        ("Muls", 290),
        ("AddRmsNormDynamicQuant", 15),
    ] {
        let here = counts.kernels.get(kernel).copied().unwrap_or(0);
        assert_eq!(here * 5, in_five_steps, "{kernel}");
    }
    assert_eq!(counts.collectives["all_gather"], 130);
    assert_eq!(counts.collectives["reduce_scatter"], 65);
}
