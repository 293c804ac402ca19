//! What readers refuse and where they say it is.

use expect_test::{Expect, expect};

use super::*;
use crate::Schedule;

const SMALL: &str = r#"{
  "format": "ascsim.schedule/1.3",
  "name": "small",
  "buffers": [
    {"name": "x", "bytes": 18446744073709551615, "color": {"a": 1, "b": [true, null, 0.1]}}
  ],
  "streams": [
    {"name": "A"},
    {"name": "B", "priority": 3}
  ],
  "programs": [
    {
      "name": "main",
      "ops": [
        {"id": "k", "stream": "A", "kind": {"kernel": {"name": "MatMul"}}, "duration": {"ns": 12.5, "from": "measured"}},
        {"id": "t", "kind": {"host": "think"}, "tags": {"layer": "1"}}
      ],
      "later": 1
    },
    {
      "name": "empty",
      "ops": []
    }
  ],
  "ranks": [
    {"first": 0, "count": 2, "program": "main", "overrides": [
      {"rank": 0, "program": "main", "op": "k", "duration": {"ns": 1, "from": "stated"}},
      {"rank": 1, "program": "main", "op": "k", "duration": {"ns": 2, "from": "stated"}}
    ]}
  ]
}
"#;

fn small() -> Schedule {
    read(SMALL.as_bytes()).unwrap()
}

#[test]
fn json_is_written_one_op_a_line_and_comes_back() {
    let bytes = to_bytes(&small(), Encoding::Json).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), SMALL);
}

#[test]
fn binary_comes_back() {
    let bytes = to_bytes(&small(), Encoding::Binary).unwrap();
    assert!(bytes.starts_with(&MAGIC));
    let again: Schedule = read(&bytes).unwrap();
    assert_eq!(again, small());
    assert_eq!(to_bytes(&again, Encoding::Binary).unwrap(), bytes);
}

#[test]
fn reordered_fields_are_written_in_one_order() {
    let text = SMALL.replace(
        r#""rank": 0, "program": "main""#,
        r#""program": "main", "rank": 0"#,
    );
    assert_ne!(text, SMALL);
    let bytes = to_bytes(&read::<Schedule>(text.as_bytes()).unwrap(), Encoding::Json).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), SMALL);
}

/// What reading says of the small file with `from` replaced by `to`, and the byte that it names,
/// counted from the replacement.
fn refused((from, to): &(&str, &[u8])) -> String {
    let at = SMALL.find(from).unwrap();
    let mut bytes = SMALL.as_bytes()[..at].to_vec();
    bytes.extend(*to);
    bytes.extend(&SMALL.as_bytes()[at + from.len()..]);
    let error = read::<Schedule>(&bytes).unwrap_err();
    let offset = match error.offset() {
        Some(offset) => format!("{:+}", offset.cast_signed() - at as i64),
        None => "none".to_owned(),
    };
    format!("{}\n  {offset}: {error}\n", to.escape_ascii())
}

fn check(cases: &[(&str, &[u8])], expected: &Expect) {
    expected.assert_eq(&cases.iter().map(refused).collect::<String>());
}

#[test]
fn the_version_is_refused_first_whatever_else_is_wrong() {
    check(
        &[
            ("/1.3\",\n  \"name\": \"small\"", b"/2\",\n  \"name\": 5"),
            ("ascsim.schedule/1.3", b"ascsim.prediction/1"),
            ("\"format\"", b"\"farmat\""),
            ("\"ascsim.schedule/1.3\"", b"1"),
        ],
        &expect![[r#"
            /2\",\n  \"name\": 5
              -16: byte 14: `format` is `ascsim.schedule/2`, and this build reads `ascsim.schedule/1` with any minor version
            ascsim.prediction/1
              -1: byte 14: `format` is `ascsim.prediction/1`, and this build reads `ascsim.schedule/1` with any minor version
            \"farmat\"
              none: there is no `format`; expected `"format": "ascsim.schedule/1"` as the first field
            1
              +0: byte 14 (line 2, column 13), in format: invalid type: integer `1`, expected a string
        "#]],
    );
}

#[test]
fn broken_json_names_field_and_byte() {
    check(
        &[
            ("\"name\": \"small\",", b"\"name\": \"small\""),
            ("true", b"tru"),
            ("\"A\"},", b"\"A\"},]"),
            ("12.5", b"012"),
            ("think", b"th\nink"),
            ("think", b"th\xFFink"),
            ("  ]\n}\n", b"  ]\n}\n{}"),
        ],
        &expect![[r#"
            \"name\": \"small\"
              +18: byte 57 (line 4, column 3), in the document: expected `,` or `}`
            tru
              +3: byte 147 (line 5, column 77), in buffers[0].color.b[0]: expected ident
            \"A\"},]
              +5: byte 201 (line 8, column 19), in streams: trailing comma
            012
              +1: byte 394 (line 15, column 96), in programs[0].ops[0].duration.ns: invalid number
            th\nink
              +2: byte 461 (line 16, column 41), in programs[0].ops[1].kind.host: control character (\u0000-\u001F) found while parsing a string
            th\xffink
              +2: byte 461, in programs[0].ops[1].kind.host: not UTF-8; save the file as UTF-8
              ]\n}\n{}
              +6: byte 849 (line 32, column 1), in the document: trailing characters
        "#]],
    );
}

#[test]
fn wrong_values_name_field_and_byte() {
    check(
        &[
            ("3}", b"-3}"),
            ("\"priority\": 3", b"\"priority\": 256"),
            ("18446744073709551615", b"18446744073709551616"),
            ("12.5", b"1000000000000000000000"),
            ("12.5", b"1e999"),
            ("measured", b"guessed"),
            ("\"kernel\": {", b"\"kernels\": {"),
            ("\"kernel\": {", b"\"wait\": {"),
            (
                "{\"host\": \"think\"}",
                b"{\"host\": \"think\", \"wait\": 1}",
            ),
            ("\"count\": 2, ", b""),
            ("\"layer\": \"1\"", b"\"layer\": 1"),
        ],
        &expect![[r#"
            -3}
              +1: byte 233 (line 9, column 32), in streams[1].priority: invalid value: integer `-3`, expected u8
            \"priority\": 256
              +14: byte 234 (line 9, column 33), in streams[1].priority: invalid value: integer `256`, expected u8
            18446744073709551616
              +0: byte 98, in buffers[0].bytes: the integer 18446744073709551616 does not fit 64 bits
            1000000000000000000000
              +0: byte 393, in programs[0].ops[0].duration.ns: the integer 1000000000000000000000 does not fit 64 bits
            1e999
              +4: byte 397 (line 15, column 99), in programs[0].ops[0].duration.ns: number out of range
            guessed
              +7: byte 415 (line 15, column 117), in programs[0].ops[0].duration.from: unknown variant `guessed`, expected one of `measured`, `derived`, `stated`, `modelled`, `assumed`
            \"kernels\": {
              +8: byte 351 (line 15, column 53), in programs[0].ops[0].kind: unknown variant `kernels`, expected one of `kernel`, `copy`, `prefetch`, `collective`, `record`, `wait`, `event_reset`, `notify_record`, `notify_wait`, `value_write`, `value_wait`, `super_kernel`, `group`, `graph_launch`, `task_update`, `host`, `alloc`, `free`, `stream_use`, `repeat`
            \"wait\": {
              +25: byte 368 (line 15, column 70), in programs[0].ops[0].kind.wait: missing field `event`
            {\"host\": \"think\", \"wait\": 1}
              +15: byte 464 (line 16, column 44), in programs[0].ops[1].kind: expected value

              +218: byte 829 (line 29, column 6), in ranks[0]: missing field `count`
            \"layer\": 1
              +9: byte 486 (line 16, column 66), in programs[0].ops[1].tags.layer: invalid type: integer `1`, expected a string
        "#]],
    );
}

#[test]
fn fields_given_twice_name_field_and_byte() {
    check(
        &[
            ("\"small\",", b"\"small\", \"name\": \"again\","),
            ("\"ns\": 12.5", b"\"ns\": 12.5, \"ns\": 3"),
            ("\"layer\": \"1\"", b"\"layer\": \"1\", \"layer\": \"2\""),
            ("\"later\": 1", b"\"later\": 1, \"later\": 2"),
            ("{\"a\": 1", b"{\"a\": 1, \"a\": 1"),
        ],
        &expect![[r#"
            \"small\", \"name\": \"again\",
              +14: byte 61 (line 3, column 25), in the document: duplicate field `name`
            \"ns\": 12.5, \"ns\": 3
              +15: byte 402 (line 15, column 104), in programs[0].ops[0].duration: duplicate field `ns`
            \"layer\": \"1\", \"layer\": \"2\"
              +26: byte 503 (line 16, column 83), in programs[0].ops[1].tags: duplicate tag `layer`
            \"later\": 1, \"later\": 2
              +27: byte 534 (line 19, column 5), in programs[0]: duplicate field `later`
            {\"a\": 1, \"a\": 1
              +40: byte 169 (line 5, column 99), in buffers[0]: duplicate field `a`
        "#]],
    );
}

#[test]
fn what_makes_no_sense_names_field_and_byte() {
    check(
        &[
            ("\"ns\": 12.5", b"\"ns\": -5"),
            ("\"stream\": \"A\"", b"\"stream\": \"C\""),
            ("\"stream\": \"A\", ", b""),
        ],
        &expect![[r#"
            \"ns\": -5
              +6: programs[0].ops[0].duration.ns (`main/k`), byte 393: the nominal value is -5; it must be from 0 to 9007199254740992
            \"stream\": \"C\"
              +10: programs[0].ops[0].stream (`main/k`), byte 329: stream `C` is not declared; declare it or correct the name

              -12: programs[0].ops[0] (`main/k`), byte 307: `kernel` runs on a stream; name one
        "#]],
    );
}

#[test]
fn an_empty_file_is_refused() {
    for text in ["", " \n\t"] {
        let error = read::<Schedule>(text.as_bytes()).unwrap_err();
        assert!(matches!(error, ReadError::Empty { .. }), "{error}");
    }
}

#[test]
fn a_truncated_file_is_refused_at_its_end_and_says_where_it_was() {
    for length in 1..SMALL.trim_end().len() {
        match read::<Schedule>(&SMALL.as_bytes()[..length]).unwrap_err() {
            ReadError::Json {
                offset, message, ..
            } => {
                assert_eq!(offset, length as u64, "{message}");
            }
            other => panic!("at {length}: {other}"),
        }
    }
    let at = SMALL.find("12.5").unwrap();
    let error = read::<Schedule>(&SMALL.as_bytes()[..at]).unwrap_err();
    let place = "in programs[0].ops[0].duration.ns:";
    assert!(error.to_string().contains(place), "{error}");
}

#[test]
fn a_truncated_or_damaged_binary_file_is_refused() {
    let bytes = to_bytes(&small(), Encoding::Binary).unwrap();
    for length in MAGIC.len()..bytes.len() {
        assert!(read::<Schedule>(&bytes[..length]).is_err(), "{length}");
    }
    for at in MAGIC.len()..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        // A bit of the frame header that nothing depends on may change; never the content.
        match read::<Schedule>(&damaged) {
            Err(_) => {}
            Ok(schedule) => assert_eq!(schedule, small()),
        }
    }
}

#[test]
fn deep_nesting_is_refused_without_overflowing_the_stack() {
    let nested = |open: &str, close: &str, depth: usize| {
        let inner = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        SMALL.replace("12.5", &inner)
    };
    for depth in [10_000, 1_000_000] {
        for text in [
            nested("{\"ceil\": ", "}", depth),
            nested("{\"add\": [", "]}", depth),
            SMALL.replace(
                "0.1",
                &format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
            ),
            "[".repeat(depth),
            SMALL.replace(
                "{\"kernel\": {\"name\": \"MatMul\"}}",
                &"{\"group\": {\"tasks\": [{\"op\": {\"id\": \"t\", \"kind\": ".repeat(depth),
            ),
        ] {
            let error = read::<Schedule>(text.as_bytes()).unwrap_err().to_string();
            let refused = error.contains("recursion limit") || error.contains("invalid type");
            assert!(refused, "{error}");
        }
    }
}

#[test]
fn what_is_written_is_never_too_deep_to_be_read() {
    for depth in 1..140 {
        let mut value = serde_json::Value::Null;
        for _ in 0..depth {
            value = serde_json::Value::Array(vec![value]);
        }
        let mut schedule = small();
        schedule.programs[0].ops[0]
            .extra
            .0
            .insert("deep".to_owned(), value);
        for encoding in [Encoding::Json, Encoding::Binary] {
            match to_bytes(&schedule, encoding) {
                Ok(bytes) => assert_eq!(read::<Schedule>(&bytes).unwrap(), schedule),
                Err(error) => {
                    assert!(depth > 100, "{depth}: {error}");
                    assert!(error.to_string().contains("nested deeper"), "{error}");
                }
            }
        }
    }
}
