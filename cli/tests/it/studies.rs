//! `ascsim what-if --ladder`, `--sweep`, `--plan` and `--given`.

use std::fs;
use std::path::PathBuf;

use ascsim_tests::shared;
use serde_json::{Value, json};

use super::{ascsim, good, refused};

const EXAMPLE: &str = "schedules/library/moe-layer-serial.json";

/// A golden event graph as a schedule file.
fn golden(name: &str, folder: &tempfile::TempDir) -> Option<PathBuf> {
    let text = fs::read_to_string(shared()?.join(format!("golden/{name}.json"))).expect("a file");
    let graph: Value = serde_json::from_str(&text).expect("JSON");
    let (mut streams, mut events, mut ops) = (Vec::new(), Vec::new(), Vec::new());
    for (at, fields) in graph["ops"].as_array().expect("a list").iter().enumerate() {
        let (stream, name) = (&fields[1], &fields[2]);
        let mut op = json!({"stream": stream});
        if !streams.contains(stream) {
            streams.push(stream.clone());
        }
        match fields[0].as_str() {
            Some("k") => {
                let (aic, aiv) = match fields[4].as_str() {
                    Some("AIC") => (24, 0),
                    Some("MIX") => (24, 48),
                    _ => (0, 48),
                };
                let ns = fields[3].as_u64().expect("a time") * 1000;
                op["id"] = name.clone();
                op["kind"] = json!({"kernel": {"name": name}});
                op["cores"] = json!({"aic": aic, "aiv": aiv});
                op["duration"] = json!({"ns": ns, "from": "stated"});
            }
            kind => {
                let kind = if kind == Some("r") { "record" } else { "wait" };
                op["id"] = json!(format!("{kind}-{at}"));
                op["kind"] = json!({kind: {"event": name}});
                if !events.contains(name) {
                    events.push(name.clone());
                }
            }
        }
        ops.push(op);
    }
    let named = |names: Vec<Value>| -> Vec<Value> {
        names
            .into_iter()
            .map(|name| json!({"name": name}))
            .collect()
    };
    let schedule = json!({
        "format": "ascsim.schedule/1", "name": name,
        "streams": named(streams), "events": named(events),
        "programs": [{"name": "p", "ops": ops}],
        "ranks": [{"first": 0, "count": 1, "program": "p"}],
    });
    let path = folder.path().join(format!("{name}.json"));
    fs::write(&path, schedule.to_string()).expect("a folder");
    Some(path)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The table of facts/schedules.md C3, by exact makespans, and what the first line says of it.
#[test]
fn the_gain_of_overlap_falls_to_none_on_a_slow_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(serial) = golden("moe_layer_serial", &folder) else {
        return;
    };
    let serial = serial.display().to_string();
    for (engines, after) in [
        ("unlimited", [546, 554, 614, 855]),
        ("exclusive", [546, 577, 637, 855]),
    ] {
        let question = [
            "what-if",
            &serial,
            "--given",
            "eager:us=0",
            "--apply",
            "shared-expert-overlap",
            "--sweep",
            "eager.us=0,5,20,60",
            "--engines",
            engines,
        ];
        let text = good(&question);
        assert!(
            first_line(&text).starts_with(
                "the gain falls from 9.6 % at us=0 to none (0.1 %) at us=60 (the host issues too late"
            ),
            "{text}"
        );
        let mut question = question.to_vec();
        question.push("--json");
        let result: Value = serde_json::from_str(&good(&question)).expect("JSON");
        let times = |name: &str| -> Vec<i64> {
            let points = result["points"].as_array().expect("points").iter();
            let ns = points.map(|point| match name {
                "before" => point["before_ns"].as_i64(),
                _ => point["outcome"]["ends"]["ns"].as_i64(),
            });
            ns.map(|ns| ns.expect("it ends") / 1000).collect()
        };
        assert_eq!(times("before"), [604, 612, 672, 856]);
        assert_eq!(times("after"), after);
    }
}

#[test]
fn a_sweep_finds_the_event_between_two_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(two) = golden("two_streams_no_event", &folder) else {
        return;
    };
    let two = two.display().to_string();
    let text = good(&[
        "what-if",
        &two,
        "--apply",
        "add-event:from=S0,record=0,to=S1,wait=0",
        "--sweep",
        "record=0..3",
        "--sweep",
        "wait=0..3",
    ]);
    let first = first_line(&text);
    assert!(
        first.starts_with("best at record=1 wait=1: 110.0 µs -> 100.0 µs, -9.1 %"),
        "{text}"
    );
    assert!(text.contains("[100.0 µs]"), "{text}");
}

#[test]
fn a_sweep_is_the_same_on_any_number_of_threads_and_goes_to_csv() {
    let ask = |threads: &str, more: &[&str]| {
        let mut command = ascsim();
        command.env("RAYON_NUM_THREADS", threads).args([
            "what-if",
            EXAMPLE,
            "--apply",
            "shared-expert-overlap",
            "--apply",
            "scale:select=module=moe.shared,factor=1",
            "--sweep",
            "factor=0..12.5",
        ]);
        let output = command.args(more).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(ask("1", &["--json"]), ask("2", &["--json"]));
    let csv = ask("2", &["--csv", "-"]);
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("scale.factor,before_ns,after_ns,difference_ns,outcome,why")
    );
    // 17 coarse samples and finer ones around the best.
    let rows: Vec<&str> = lines.collect();
    assert!(rows.len() > 20, "{csv}");
    assert!(rows[0].starts_with("0,604000,"), "{csv}");
    let text = ask("2", &[]);
    assert!(
        first_line(&text).contains("the least factor is best, more is worse"),
        "{text}"
    );
}

#[test]
fn a_sweep_turns_over_where_the_host_falls_behind() {
    // Moving the record of the wait point later lets fewer ops overlap; presets are a list.
    let text = good(&[
        "what-if",
        EXAMPLE,
        "--sweep",
        "shared-expert-overlap.preset=w8a8,unquantised,start-only",
    ]);
    assert!(first_line(&text).starts_with("best at preset="), "{text}");
    let text = good(&[
        "what-if",
        EXAMPLE,
        "--sweep",
        "add-event.record=1..3",
        "--apply",
        "add-event:from=main,record=0,to=main,wait=2",
    ]);
    assert!(first_line(&text).starts_with("no gain at any of"), "{text}");
}

#[test]
fn a_ladder_adds_up() {
    let arguments = [
        "what-if",
        EXAMPLE,
        "--given",
        "eager:us=20",
        "--ladder",
        "shared-expert-overlap,graph:us=20,drop-redundant-events",
    ];
    let text = good(&arguments);
    assert!(
        first_line(&text).contains("faster after 3 changes"),
        "{text}"
    );
    assert!(
        text.contains("waterfall") && text.contains("+ graph:us=20"),
        "{text}"
    );
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    let result: Value = serde_json::from_str(&good(&arguments)).expect("JSON");
    let rungs = result["rungs"].as_array().expect("rungs");
    assert_eq!(rungs.len(), 4);
    let mut sum = 0;
    for pair in rungs.windows(2) {
        let makespan = |rung: &Value| rung["makespan"]["ns"].as_i64().expect("it ends");
        let step = pair[1]["step"]["ns"].as_i64().expect("a step");
        assert_eq!(makespan(&pair[1]) - makespan(&pair[0]), step);
        sum += step;
        assert_eq!(pair[1]["total"]["ns"].as_i64(), Some(sum));
        let blame = pair[1]["blame"].as_array().expect("a list").iter();
        let parts: i64 = blame.filter_map(|part| part["ns"].as_i64()).sum();
        assert_eq!(parts, makespan(&pair[1]));
    }
}

#[test]
fn a_plan_holds_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plan.toml");
    fs::write(
        &path,
        "given = [\"eager:us=5\"]\n[[change]]\nname = \"shared-expert-overlap\"\nstream = \"S1\"\n\
         [[change]]\nname = \"scale\"\nselect = \"id=expert_up\"\nfactor = 0.5\n",
    )
    .expect("a folder");
    let path = path.display().to_string();
    let by_plan: Value =
        serde_json::from_str(&good(&["what-if", EXAMPLE, "--plan", &path, "--json"]))
            .expect("JSON");
    let by_hand: Value = serde_json::from_str(&good(&[
        "what-if",
        EXAMPLE,
        "--given",
        "eager:us=5",
        "--apply",
        "shared-expert-overlap:stream=S1",
        "--apply",
        "scale:select=id=expert_up,factor=0.5",
        "--json",
    ]))
    .expect("JSON");
    assert_eq!(by_plan["answers"], by_hand["answers"]);
    assert_eq!(by_plan["given"][0]["change"], "eager:us=5");
    fs::write(
        folder.path().join("plan.toml"),
        "[[change]]\nname = \"scael\"\nby = 1\n",
    )
    .expect("it");
    let error = refused(&["what-if", EXAMPLE, "--plan", &path], b"");
    assert!(
        error.contains("plan.toml: change number 1: there is no change `scael`"),
        "{error}"
    );
}

#[test]
fn a_null_gain_has_its_cause_in_the_first_line() {
    let text = good(&[
        "what-if",
        EXAMPLE,
        "--given",
        "eager:us=100",
        "--apply",
        "shared-expert-overlap",
    ]);
    let first = first_line(&text);
    assert!(
        first.starts_with("no gain: ") && first.contains("the host issues too late"),
        "{text}"
    );
    let text = good(&[
        "what-if",
        EXAMPLE,
        "--apply",
        "scale:select=id=expert_up,factor=1",
    ]);
    assert!(
        first_line(&text).contains("not on the critical path"),
        "{text}"
    );
}

#[test]
fn an_overlap_says_what_runs_beside_what_and_what_left_the_path() {
    let text = good(&["what-if", EXAMPLE, "--apply", "shared-expert-overlap"]);
    assert!(
        text.contains("4 ops truly in parallel, 0 partly, 0 not"),
        "{text}"
    );
    assert!(text.contains("left the critical path: "), "{text}");
    assert!(text.contains("shared_up −33.0 µs"), "{text}");
}

#[test]
fn wrong_studies_say_what_to_do() {
    let says = |arguments: &[&str], part: &str| {
        let mut all = vec!["what-if", EXAMPLE];
        all.extend(arguments);
        let error = refused(&all, b"");
        assert!(error.contains(part), "{arguments:?}: {error}");
    };
    says(
        &["--sweep", "us=0..60"],
        "no change of the question has the key `us`",
    );
    says(&["--sweep", "us"], "write KEY=FROM..TO");
    says(&["--sweep", "eager.us=9..1"], "to a greater one");
    says(&["--sweep", "eager.by=1,2"], "no key `by`");
    says(&["--sweep", "eager.us=a,b"], "finite number");
    says(&["--ladder"], "--ladder needs changes");
    says(
        &["--ladder", "one-stream", "-o", "x.json"],
        "not for --ladder or --sweep",
    );
    says(&["--given", "nonsense"], "there is no change `nonsense`");
    says(&["--plan", "/nowhere.toml"], "/nowhere.toml");
}
