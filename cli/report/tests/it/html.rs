//! Text from a file stays text in HTML.

use ascsim_report::{Language, Report};
use ascsim_studies::{StepTimeline, WhatIf};
use html5ever::tendril::TendrilSink;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

use super::{any_step, hostile, result};

fn page(result: &WhatIf, before: &StepTimeline, after: Option<&StepTimeline>) -> String {
    let mut bytes = Vec::new();
    let report = Report {
        result,
        before,
        after,
        short: true,
        command: &result.source.path,
        language: Language::English,
    };
    report.write(&mut bytes).expect("memory takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

/// What a browser makes of a page: its elements with the names of their attributes, and its text
/// outside scripts and styles.
#[derive(Default)]
struct Seen {
    elements: Vec<String>,
    text: String,
    scripts: Vec<String>,
}

fn seen(page: &str) -> Seen {
    let dom = html5ever::parse_document(RcDom::default(), Default::default()).one(page);
    let mut seen = Seen::default();
    walk(&dom.document, "", &mut seen);
    seen
}

fn walk(node: &Handle, parent: &str, seen: &mut Seen) {
    let mut own = String::new();
    match &node.data {
        NodeData::Element { name, attrs, .. } => {
            own = name.local.to_string();
            let attrs = attrs.borrow();
            let names: Vec<_> = attrs
                .iter()
                .map(|attr| attr.name.local.to_string())
                .collect();
            seen.elements.push(format!("{own} {}", names.join(" ")));
        }
        NodeData::Text { contents } if parent == "script" => {
            seen.scripts.push(contents.borrow().to_string());
        }
        NodeData::Text { contents } if parent != "style" => seen.text.push_str(&contents.borrow()),
        NodeData::Comment { contents } => seen.elements.push(format!("comment {contents}")),
        _ => {}
    }
    for child in node.children.borrow().iter() {
        walk(child, &own, seen);
    }
}

/// As a page shows it: control characters are replaced.
fn shown(name: &str) -> String {
    let keep = |c: char| matches!(c, '\n' | '\t' | '\r') || !c.is_control();
    name.chars()
        .map(|c| if keep(c) { c } else { '\u{fffd}' })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_changes_the_elements_of_a_page(name in hostile(), step in any_step()) {
        let hostile = seen(&page(&result(&name), &step, Some(&step)));
        let harmless = seen(&page(&result("harmless"), &step, Some(&step)));
        prop_assert_eq!(&hostile.elements, &harmless.elements);
        prop_assert!(hostile.text.contains(&shown(&name)));
        prop_assert_eq!(hostile.scripts.len(), harmless.scripts.len());
        // Words, two timelines, and the one script that runs.
        prop_assert_eq!(hostile.scripts.len(), 4);
        prop_assert_eq!(&hostile.scripts[3], &harmless.scripts[3]);
    }

    #[test]
    fn timelines_are_packed(step in any_step()) {
        let seen = seen(&page(&result("r"), &step, None));
        let packed = &seen.scripts[1];
        prop_assert!(packed.chars().all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c)));
    }
}

#[test]
fn a_page_names_no_place_on_the_network() {
    let step = StepTimeline::default();
    let page = page(&result("r"), &step, None);
    for scheme in ["http:", "https:", "//cdn", "@import", "url("] {
        assert!(!page.contains(scheme), "{scheme}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn both_languages_say_everything() {
    let side = |language| {
        let step = StepTimeline::default();
        let result = result("r");
        let report = Report {
            result: &result,
            before: &step,
            after: None,
            short: false,
            command: "ascsim",
            language,
        };
        let mut bytes = Vec::new();
        report.write(&mut bytes).expect("memory takes all");
        seen(&String::from_utf8(bytes).expect("UTF-8"))
    };
    let (english, chinese) = (side(Language::English), side(Language::Chinese));
    assert_eq!(english.elements, chinese.elements);
    for (word, other) in [
        ("Timeline", "时间线"),
        ("Assumptions", "假设"),
        ("Where the time goes", "时间去向"),
    ] {
        assert!(
            english.text.contains(word) && !chinese.text.contains(word),
            "{word}"
        );
        assert!(chinese.text.contains(other), "{other}");
    }
}
