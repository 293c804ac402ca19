//! `ascsim gen`.

use super::{good, refused, run};

#[test]
fn a_generated_step_goes_to_a_file_or_into_the_next_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("step.json");
    let path = path.to_str().expect("UTF-8");
    let said = good(&["gen", "qwen3.5-35b-a3b", "--tp", "2", "-o", path]);
    assert!(
        said.contains("1261 kernels  180 copies   80 collectives  260 event tasks"),
        "{said}"
    );
    assert!(refused(&["gen", "qwen3-8b", "-o", path], b"").contains("--force"));
    let shown = good(&["show", path]);
    assert!(shown.contains("FusedInferAttentionScore"), "{shown}");

    let (code, schedule, summary) = run(&["gen", "qwen3-8b", "-o", "-"], b"");
    assert_eq!(code, 0, "{summary}");
    assert!(summary.contains("Qwen3-8B decode"), "{summary}");
    let (code, report, error) = run(&["show", "-"], schedule.as_bytes());
    assert_eq!(code, 0, "{report}{error}");
}

#[test]
fn json_has_counts_by_operator() {
    let out = good(&["gen", "qwen3-8b", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(summary["format"], "ascsim.generated/1");
    let model = &summary["programs"][1]["counts"];
    assert_eq!(model["kernels"]["FusedInferAttentionScore"], 36);
}

#[test]
fn the_list_says_what_cannot_be_generated() {
    let list = good(&["gen", "--list"]);
    assert!(list.contains("qwen3.5-35b-a3b"), "{list}");
    assert!(list.contains("cannot be generated"), "{list}");
    let json = good(&["gen", "--list", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["models"].as_array().map(Vec::len), Some(12));
}

#[test]
fn a_histogram_comes_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("counts.txt");
    let counts: Vec<String> = (0..128).map(|n| (n % 7 + 1).to_string()).collect();
    std::fs::write(&path, counts.join(", ")).expect("written");
    let routing = format!("file:{}", path.display());
    let said = good(&["gen", "qwen3-30b-a3b", "--routing", &routing]);
    assert!(said.contains("GB of weights"), "{said}");
    std::fs::write(&path, "1 two").expect("written");
    let error = refused(&["gen", "qwen3-30b-a3b", "--routing", &routing], b"");
    assert!(error.contains("one count per expert"), "{error}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (arguments, why) in [
        (&["gen", "gpt"][..], "no model is called"),
        (&["gen", "qwen3-8b", "--tp", "5"], "must divide"),
        (&["gen", "deepseek-v3.2"], "indexer"),
        (&["gen", "qwen3-8b", "--routing", "odd"], "zipf:S"),
        (
            &["gen", "qwen3.5-35b-a3b", "--cp", "2"],
            "context parallelism",
        ),
    ] {
        let error = refused(arguments, b"");
        assert!(error.contains(why), "{arguments:?}: {error}");
    }
}
