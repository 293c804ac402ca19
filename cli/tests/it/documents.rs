//! The commands that the documents show work, and the generated documents are current.

use std::fmt::Write as _;
use std::fs;

use ascsim_check::Rule;
use ascsim_schedules::rewrite::catalogue;
use expect_test::expect_file;

use super::{run, workspace};

/// Lines of a document that start with `$ ascsim`, without the prompt.
fn commands(document: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace().join(document)).expect("the document exists");
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("$ ascsim "));
    lines.map(str::to_owned).collect()
}

/// Splits a command line at blanks outside double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("never empty").push(c),
        }
    }
    words
}

#[test]
fn examples_of_the_documents_run() {
    let mut ran = 0;
    for document in [
        "README.md",
        "docs/what-if.md",
        "docs/simulator.md",
        "docs/gen.md",
        "docs/check.md",
        "docs/schedule-format.md",
        "docs/reports.md",
    ] {
        for line in commands(document) {
            // A synopsis or a command on a file of the reader's own.
            if line.contains("PATH")
                || line.contains("PROFILE")
                || line.contains("FILE")
                || line.contains("INPUT")
            {
                continue;
            }
            let words = words(&line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let (code, _, error) = run(&words, b"");
            assert_eq!(code, 0, "{document}: ascsim {line}: {error}");
            ran += 1;
        }
    }
    assert!(ran >= 4, "only {ran} examples were found");
}

#[test]
fn the_example_of_the_format_is_a_schedule() {
    let file = workspace().join("docs/schedule-format.md");
    let text = fs::read_to_string(file).expect("the document exists");
    let (_, rest) = text.split_once("```json\n").expect("it has an example");
    let (json, _) = rest.split_once("```").expect("the example ends");
    let (code, out, error) = run(&["what-if", "-", "--samples", "0"], json.as_bytes());
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("the step takes 43.0 µs"), "{out}");
}

#[test]
fn the_document_of_the_changes_is_current() {
    let mut text = String::from(
        "# Changes\n\nWhat `ascsim what-if --apply` takes. This file is generated from the code: \
         `UPDATE_EXPECT=1 cargo test -p ascsim documents` writes it anew.\n",
    );
    for doc in catalogue() {
        write!(text, "\n## `{}`: {}\n\n", doc.name, doc.summary).expect("a string takes all");
        for key in doc.keys {
            let need = if key.required { "required" } else { "optional" };
            writeln!(text, "- `{}` ({need}): {}", key.name, key.meaning).expect("it does");
        }
        write!(
            text,
            "\n{}\n\n```\n--apply {}\n```\n",
            doc.details, doc.example
        )
        .expect("it does");
    }
    expect_file![workspace().join("docs/changes.md")].assert_eq(&text);
}

#[test]
fn the_rules_in_the_document_are_current() {
    let path = workspace().join("docs/check.md");
    let document = fs::read_to_string(&path).expect("the document exists");
    let mark = "UPDATE_EXPECT=1 cargo test -p ascsim documents -->\n";
    let (written, _) = document.split_once(mark).expect("it has the mark");
    let mut text = format!("{written}{mark}\n## Rules\n");
    let mut group = None;
    for rule in Rule::ALL {
        let doc = rule.doc();
        if group.replace(doc.group) != Some(doc.group) {
            write!(text, "\n### {}\n", doc.group.name()).expect("a string takes all");
        }
        let severity = format!("{:?}", doc.severity).to_lowercase();
        write!(
            text,
            "\n#### `{}`: {}\n\n{severity}. {}\n",
            doc.code, doc.title, doc.explanation
        )
        .expect("it does");
        if let Some(fix) = doc.fix {
            write!(text, "\n`--fix` {fix}.\n").expect("it does");
        }
    }
    expect_file![path].assert_eq(&text);
}
