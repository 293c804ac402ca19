//! `ascsim what-if`.

use serde_json::Value;

use super::{good, refused, run};

const EXAMPLE: &str = "schedules/library/moe-layer-serial.json";

fn json(arguments: &[&str]) -> Value {
    let mut all = vec!["what-if"];
    all.extend(arguments);
    all.push("--json");
    serde_json::from_str(&good(&all)).expect("the output is JSON")
}

fn makespan(result: &Value, side: &str) -> i64 {
    let answers = result["answers"].as_array().expect("a list");
    let answer = answers.last().expect("an answer");
    let side = if side == "after" {
        &answer["after"]["ends"]
    } else {
        &answer["before"]
    };
    side["makespan"]["ns"]
        .as_i64()
        .unwrap_or_else(|| panic!("{result:#}"))
}

#[test]
fn without_a_file_it_answers_the_example_and_says_so() {
    let out = good(&["what-if"]);
    let first = out.lines().next().expect("a line");
    assert!(first.contains("faster: "), "{first}");
    assert!(out.contains("built-in example"), "{out}");
    assert!(out.contains("UNCALIBRATED"), "{out}");
    assert!(out.contains("assumed"), "{out}");
}

#[test]
fn the_same_question_has_the_same_bytes() {
    assert_eq!(good(&["what-if", "--json"]), good(&["what-if", "--json"]));
    let seed = |seed| good(&["what-if", "--json", "--seed", seed]);
    assert_ne!(seed("1"), seed("2"));
}

#[test]
fn the_blame_adds_up_to_the_makespan() {
    let result = json(&[]);
    let answer = &result["answers"][0];
    for side in [&answer["before"], &answer["after"]["ends"]] {
        let parts = side["blame"].as_array().expect("a list");
        let sum: i64 = parts.iter().filter_map(|part| part["ns"].as_i64()).sum();
        assert_eq!(Some(sum), side["makespan"]["ns"].as_i64());
    }
}

#[test]
fn each_change_does_what_it_says() {
    // 604 µs of kernels on one stream, and no host time.
    let before = makespan(&json(&[EXAMPLE]), "before");
    assert_eq!(before, 604_000);
    let after = |change: &str| makespan(&json(&[EXAMPLE, "--apply", change]), "after");
    assert_eq!(
        after("scale:select=id=expert_up,factor=0.5"),
        before - 116_500
    );
    assert_eq!(
        after("set-duration:select=id=expert_up,us=33"),
        before - 200_000
    );
    assert_eq!(after("remove:select=id=expert_up"), before - 233_000);
    // 604 µs of kernels after a launch of 20 µs.
    assert_eq!(after("graph:us=20"), 624_000);
    // The host cannot keep up: 12 calls of 100 µs, then the last kernel.
    assert_eq!(after("eager:us=100"), 1_203_000);
    let moved =
        "move-to-stream:select=module=moe.shared,stream=side,after=id=router_cast,before=id=add";
    assert!(after(moved) < before);
    // Issued late, the side stream misses its slot on the cores, if they are shared.
    let late = |engines: &str| {
        let arguments = [
            EXAMPLE,
            "--apply",
            "eager:us=5",
            "--apply",
            moved,
            "--engines",
            engines,
        ];
        makespan(&json(&arguments), "after")
    };
    assert!(late("unlimited") < late("exclusive"));
}

#[test]
fn changes_apply_in_order() {
    let twice = json(&[
        EXAMPLE,
        "--apply",
        "set-duration:select=id=expert_up,us=100",
        "--apply",
        "scale:select=id=expert_up,factor=0.5",
    ]);
    assert_eq!(makespan(&twice, "after"), 604_000 - 183_000);
    assert_eq!(twice["changes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_null_gain_is_said_first() {
    let out = good(&[
        "what-if",
        EXAMPLE,
        "--apply",
        "scale:select=id=expert_up,factor=1",
    ]);
    assert!(out.starts_with("no gain: "), "{out}");
    let out = good(&[
        "what-if",
        EXAMPLE,
        "--apply",
        "scale:select=id=expert_up,factor=2",
    ]);
    assert!(out.starts_with("a loss: "), "{out}");
}

#[test]
fn a_schedule_that_hangs_is_a_finding() {
    let schedule = r#"{"format": "ascsim.schedule/1", "name": "hang",
        "streams": [{"name": "a"}, {"name": "b"}],
        "notifies": [{"name": "n"}],
        "programs": [{"name": "p", "ops": [
            {"id": "k", "stream": "a", "kind": {"kernel": {"name": "K"}}, "duration": {"ns": 5, "from": "stated"}},
            {"id": "w", "stream": "b", "kind": {"notify_wait": {"notify": "n"}}}]}],
        "ranks": [{"first": 0, "count": 1, "program": "p"}]}"#;
    let (code, out, error) = run(&["what-if", "-"], schedule.as_bytes());
    assert_eq!((code, out.as_str()), (1, ""), "{error}");
    assert!(error.contains("hangs") && error.contains("`w`"), "{error}");
}

#[test]
fn a_change_that_changes_nothing_has_no_range() {
    let same = json(&[EXAMPLE, "--apply", "scale:select=kind=kernel,factor=1"]);
    let difference = &same["answers"][0]["difference"];
    for key in ["ns", "low_ns", "high_ns"] {
        assert_eq!(difference[key], 0, "{difference}");
    }
    let after = &same["answers"][0]["after"]["ends"]["makespan"];
    assert!(
        after["low_ns"].as_i64() < after["high_ns"].as_i64(),
        "{after}"
    );
}

#[test]
fn wrong_requests_say_what_to_do() {
    let says = |arguments: &[&str], part: &str| {
        let mut all = vec!["what-if"];
        all.extend(arguments);
        let error = refused(&all, b"");
        assert!(error.contains(part), "{arguments:?}: {error}");
    };
    says(
        &["--apply", "nonsense"],
        "there is no change `nonsense`; there are scale, ",
    );
    says(
        &["--apply", "scale:select=id=zzz,factor=2"],
        "selects no op",
    );
    says(&["--apply", "scale:select=id=expert_up"], "needs factor=");
    says(&["/nowhere/at/all"], "/nowhere/at/all");
    says(&[EXAMPLE, "--step", "3"], "--step");
    says(&["-o", "-", "--json"], "standard output");
    says(&["-o", "README.md"], "README.md exists; give --force");
}
