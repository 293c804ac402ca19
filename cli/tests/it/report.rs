//! Reports in a real browser, and exports through the binary.

use std::path::{Path, PathBuf};

use ascsim_tests::browser::{Browser, chromium};
use ascsim_tests::shared;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{good, refused, run};

/// An expression that is true once the timelines are drawn, or cannot be.
const READY: &str = "document.documentElement?.dataset.ready \
     || document.getElementById('broken')?.hidden === false";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A file with the report of the built-in example.
fn example(folder: &TempDir, lang: &str) -> PathBuf {
    let file = folder.path().join(format!("{lang}.html"));
    good(&["what-if", "--report", text(&file), "--lang", lang]);
    file
}

fn browser() -> Option<Browser> {
    chromium().map(|program| Browser::start(&program, 1280, 900))
}

/// How long the view of the page is, in ns.
fn span(browser: &mut Browser) -> f64 {
    let span = browser.evaluate("ascsim.view().to - ascsim.view().from");
    span.as_f64().expect("a number")
}

fn from(browser: &mut Browser) -> f64 {
    let from = browser.evaluate("ascsim.view().from");
    from.as_f64().expect("a number")
}

fn chosen(browser: &mut Browser) -> Option<String> {
    let op = browser.evaluate("ascsim.chosen() && ascsim.chosen().op");
    op.as_str().map(str::to_owned)
}

/// Waits until what was asked for is drawn.
fn settle(browser: &mut Browser) {
    browser.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
    );
}

/// Where an op of a timeline is on the page.
fn place(browser: &mut Browser, panel: usize, op: &str) -> (f64, f64) {
    let at = browser.evaluate(&format!("ascsim.where({panel}, {})", json!(op)));
    let number = |key: &str| at[key].as_f64().unwrap_or_else(|| panic!("{op}: {at}"));
    (number("x"), number("y"))
}

/// Fails if two labels of one canvas lie on each other, or a canvas is empty.
fn assert_is_drawn(browser: &mut Browser) {
    let canvases = browser.evaluate("ascsim.labels()");
    let number = |label: &Value, key: &str| label[key].as_f64().expect("a number");
    for labels in canvases.as_array().expect("a list") {
        let labels = labels.as_array().expect("a list");
        for (at, one) in labels.iter().enumerate() {
            for other in &labels[at + 1..] {
                let apart = |place: &str, size: &str| {
                    number(one, place) + number(one, size) <= number(other, place) + 0.5
                        || number(other, place) + number(other, size) <= number(one, place) + 0.5
                };
                assert!(apart("x", "width") || apart("y", "height"), "{one} {other}");
            }
        }
    }
    let colours = browser.evaluate(
        "[...document.querySelectorAll('.panel canvas')].map((canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        })",
    );
    for count in colours.as_array().expect("a list") {
        assert!(count.as_u64() >= Some(4), "a canvas has {count} colours");
    }
    let shot = browser.command("Page.captureScreenshot", json!({"format": "png"}));
    // An empty page of this size takes a few kB.
    let size = shot["data"].as_str().map_or(0, str::len);
    assert!(size > 20_000, "the screenshot takes {size} bytes");
}

#[test]
fn a_report_is_read_with_mouse_and_keyboard() {
    let Some(mut browser) = browser() else { return };
    let folder = folder();
    let file = example(&folder, "en");
    browser.open(&file, READY);
    browser.assert_quiet();
    assert_is_drawn(&mut browser);
    let whole = span(&mut browser);
    // 604 µs and a margin of 1 % on both sides.
    assert!((whole - 616_080.0).abs() < 1.0, "{whole}");

    // A click chooses the op, and says all of it.
    let at = place(&mut browser, 1, "shared_up");
    browser.drag(at, at);
    assert_eq!(chosen(&mut browser).as_deref(), Some("shared_up"));
    let facts = browser.evaluate("document.getElementById('facts').innerText");
    let facts = facts.as_str().expect("text");
    for part in [
        "module=moe.shared",
        "stream side",
        "AIC",
        "before the change",
        "stated",
    ] {
        assert!(facts.contains(part), "{part}: {facts}");
    }

    // The wheel zooms at the mouse, and only with the control key.
    let before = from(&mut browser);
    browser.wheel(at, -300.0, true);
    settle(&mut browser);
    assert!(span(&mut browser) < whole * 0.8 && from(&mut browser) > before);
    let zoomed = span(&mut browser);
    let start = from(&mut browser);
    browser.drag((at.0, at.1), (at.0 - 80.0, at.1));
    assert!(
        from(&mut browser) > start,
        "dragging to the left shows later times"
    );
    assert!((span(&mut browser) - zoomed).abs() < 1e-3);
    browser.evaluate("document.getElementById('fit').click()");
    assert!((span(&mut browser) - whole).abs() < 1e-3);

    // The same by keys alone, from the search to the timeline.
    browser.evaluate("document.querySelector('.panel canvas').focus()");
    for (key, closer) in [("+", true), ("w", true), ("s", false), ("-", false)] {
        let before = span(&mut browser);
        browser.press(key);
        assert_eq!(span(&mut browser) < before, closer, "{key}");
    }
    browser.press("Escape");
    assert_eq!(chosen(&mut browser), None);
    browser.press("ArrowRight");
    let first = chosen(&mut browser).expect("an op is chosen");
    browser.press("ArrowRight");
    let second = chosen(&mut browser).expect("an op is chosen");
    assert_ne!(first, second);
    browser.press("ArrowLeft");
    assert_eq!(chosen(&mut browser), Some(first));
    browser.press("Enter");
    settle(&mut browser);
    assert!(span(&mut browser) < whole / 10.0);
    let start = from(&mut browser);
    browser.press("d");
    assert!(from(&mut browser) > start);
    browser.press("0");
    assert!((span(&mut browser) - whole).abs() < 1e-3);
    browser.press("/");
    browser.write("MOE.SHARED");
    browser.press("Enter");
    // Four ops with this tag in each timeline.
    assert_eq!(browser.evaluate("ascsim.found()"), json!(8));
    let count = browser.evaluate("document.getElementById('count').textContent");
    assert_eq!(count, json!("1 / 8"));
    assert!(chosen(&mut browser).expect("a hit").starts_with("shared"));

    // Every control can be reached by the tabulator.
    browser.open(&file, READY);
    let mut reached = Vec::new();
    for _ in 0..16 {
        browser.press("Tab");
        let id = browser.evaluate("document.activeElement.id || document.activeElement.tagName");
        reached.push(id.as_str().unwrap_or_default().to_owned());
    }
    for id in ["theme", "zoom-in", "fit", "search", "show-path", "CANVAS"] {
        assert!(reached.iter().any(|one| one == id), "{id}: {reached:?}");
    }
    settle(&mut browser);
    assert_is_drawn(&mut browser);
    browser.assert_quiet();
}

#[test]
fn a_report_fits_each_width_language_and_light() {
    let Some(mut browser) = browser() else { return };
    let folder = folder();
    for (lang, tag, word) in [("en", "en", "Timeline"), ("zh", "zh-CN", "时间线")] {
        let file = example(&folder, lang);
        for width in [360, 640, 1280, 1920] {
            browser.resize(width, 900);
            browser.open(&file, READY);
            let lang = browser.evaluate("document.documentElement.lang");
            assert_eq!(lang, json!(tag));
            let heading = browser.evaluate("document.getElementById('timeline').textContent");
            assert_eq!(heading, json!(word));
            let wide = browser.evaluate("document.documentElement.scrollWidth");
            assert!(
                wide.as_u64() <= Some(width.into()),
                "{lang} at {width}: {wide}"
            );
            assert_is_drawn(&mut browser);
            let back = "getComputedStyle(document.body).backgroundColor";
            let light = browser.evaluate(back);
            browser.evaluate("document.getElementById('theme').click()");
            settle(&mut browser);
            assert_ne!(browser.evaluate(back), light);
            assert_is_drawn(&mut browser);
        }
    }
    browser.assert_quiet();
}

#[test]
fn a_capture_is_drawn() {
    let (Some(mut browser), Some(shared)) = (browser(), shared()) else {
        return;
    };
    let folder = folder();
    let file = folder.path().join("report.html");
    let capture = shared.join("traces/ddp-910b-text/level1-rank0");
    good(&[
        "report",
        text(&capture),
        "-o",
        text(&file),
        "--samples",
        "5",
    ]);
    browser.open(&file, READY);
    assert!(browser.evaluate("ascsim.rows()[0]").as_u64() > Some(100));
    assert_is_drawn(&mut browser);
    for _ in 0..12 {
        browser.evaluate("document.getElementById('zoom-in').click()");
        settle(&mut browser);
        let labels = browser.evaluate("ascsim.labels().length");
        assert_eq!(labels, json!(2));
    }
    browser.assert_quiet();
}

#[test]
fn a_million_ops_are_drawn() {
    let Some(mut browser) = browser() else { return };
    let folder = folder();
    let (schedule, file) = (
        folder.path().join("large.json"),
        folder.path().join("large.html"),
    );
    std::fs::write(&schedule, million().to_string()).expect("it is written");
    good(&[
        "report",
        text(&schedule),
        "-o",
        text(&file),
        "--samples",
        "0",
    ]);
    let size = std::fs::metadata(&file).expect("it is there").len();
    assert!(size <= 60_000_000, "{size} bytes");
    browser.open(&file, READY);
    assert_eq!(browser.evaluate("ascsim.rows()"), json!([1_000_000]));
    assert_is_drawn(&mut browser);
    // From far away to a single op.
    browser.evaluate("document.querySelector('.panel canvas').focus()");
    let mut last = span(&mut browser);
    for _ in 0..36 {
        browser.press("w");
        settle(&mut browser);
        let now = span(&mut browser);
        assert!(now < last);
        last = now;
    }
    assert_is_drawn(&mut browser);
    browser.press("/");
    browser.write("op77");
    browser.press("Enter");
    // 11 ops, 250 times on 4 ranks.
    assert_eq!(browser.evaluate("ascsim.found()"), json!(11_000));
    browser.assert_quiet();
}

/// 4 ranks, 250 iterations of 1000 kernels on 4 streams.
fn million() -> Value {
    let streams = ["main", "side", "comm", "copy"];
    let ops: Vec<Value> = (0..1000)
        .map(|at| {
            json!({
                "id": format!("op{at}"), "stream": streams[at % 4],
                "kind": {"kernel": {"name": (["MatMulV3", "RmsNorm", "SwiGlu"][at % 3])}},
                "duration": {"ns": 500 + at * 37 % 4000, "from": "stated"},
                "cores": if at % 2 == 0 { json!({"aic": 24}) } else { json!({"aiv": 48}) },
                "tags": {"layer": (at / 16).to_string()},
            })
        })
        .collect();
    json!({
        "format": "ascsim.schedule/1", "name": "large",
        "streams": streams.map(|name| json!({"name": name})),
        "programs": [
            {"name": "body", "ops": ops},
            {"name": "main", "ops": [{"id": "step", "kind": {"repeat": {"program": "body", "count": 250}}}]},
        ],
        "ranks": [{"first": 0, "count": 4, "program": "main"}],
    })
}

#[test]
fn hostile_names_are_shown_and_run_nothing() {
    let Some(mut browser) = browser() else { return };
    let folder = folder();
    let result: Value = serde_json::from_str(&good(&["what-if", "--json"])).expect("JSON");
    for name in [
        "</script><script>window.hacked = 1</script>",
        "<img src=x onerror='window.hacked = 1'>",
        "javascript:window.hacked=1//<svg/onload=window.hacked=1>",
        "\u{202e}gnp.exe\u{2066} \u{200f}",
        "a\tb\u{1b}[31m\u{7f}",
        &"長".repeat(10_000),
    ] {
        // In every text that the result took from a file.
        let mut hostile = result.clone();
        for side in ["/answers/0/before", "/answers/0/after/ends"] {
            let stream = &mut hostile.pointer_mut(side).expect("a side")["streams"][0];
            stream["stream"] = json!(name);
            stream["tasks"][0]["op"] = json!(name);
        }
        hostile["source"]["path"] = json!(name);
        hostile["notes"][0]["text"] = json!(name);
        hostile["answers"][0]["carriers"][0]["parameter"] = json!(name);
        let file = folder.path().join("hostile.html");
        let (code, page, error) = run(&["report", "-", "-o", "-"], hostile.to_string().as_bytes());
        assert_eq!(code, 0, "{error}");
        std::fs::write(&file, page).expect("it is written");
        browser.open(&file, READY);
        browser.evaluate("document.querySelector('.panel canvas').focus()");
        browser.press("ArrowRight");
        assert_eq!(chosen(&mut browser).as_deref(), Some(name));
        let facts = browser.evaluate("document.querySelector('#facts dd').textContent");
        assert_eq!(facts, json!(name));
        assert_eq!(browser.evaluate("typeof window.hacked"), json!("undefined"));
        let wide = browser.evaluate("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(1280), "{wide}");
        browser.assert_quiet();
    }
}

#[test]
fn exports_come_from_schedules_captures_and_results() {
    let schedule = "schedules/library/moe-layer-serial.json";
    let table = good(&["export", schedule, "--to", "csv"]);
    assert_eq!(table.lines().count(), 13, "{table}");
    assert!(good(&["export", schedule, "--to", "dot"]).starts_with("digraph"));
    let chrome: Value =
        serde_json::from_str(&good(&["export", schedule, "--to", "chrome"])).expect("JSON");
    assert!(chrome.as_array().is_some_and(|events| events.len() > 12));
    let result = good(&["what-if", "--json"]);
    let (code, picture, error) = run(&["export", "-", "--to", "svg"], result.as_bytes());
    assert_eq!(code, 0, "{error}");
    assert!(picture.contains("before · 604.0 µs") && picture.contains("after · 546.0 µs"));
    if let Some(shared) = shared() {
        let capture = shared.join("traces/tinymlp-910b3");
        let table = good(&["export", text(&capture), "--to", "csv", "--rank", "0"]);
        assert!(table.contains(",thread,") && table.contains(",stream,"));
    }
}

#[test]
fn wrong_requests_say_what_to_do() {
    let schedule = "schedules/library/moe-layer-serial.json";
    let error = refused(&["export", schedule, "--to", "csv", "--rank", "7"], b"");
    assert!(error.contains("there is no rank 7; there are 0"), "{error}");
    let error = refused(&["export", schedule, "--to", "csv", "--side", "after"], b"");
    assert!(error.contains("--side"), "{error}");
    let error = refused(
        &["report", "-", "-o", "-"],
        br#"{"format": "ascsim.replay/1"}"#,
    );
    assert!(error.contains("cannot be drawn"), "{error}");
    let error = refused(&["report", schedule, "-o", "README.md"], b"");
    assert!(error.contains("--force"), "{error}");
}
