//! Malformed profiles: a clear error, never a panic.

use std::fs;
use std::path::Path;

use ascsim_traces::inspect::InspectReport;
use ascsim_traces::pair::{Links, notifies};
use ascsim_traces::{Place, TraceError, read};
use proptest::prelude::*;

use crate::synth::Profile;

/// Reads the small profile with its files changed by `change`.
fn changed(change: impl Fn(&str) -> Vec<u8>, file: &str) -> TraceError {
    let folder = tempfile::tempdir().unwrap();
    Profile::small().write(folder.path());
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    let bytes = change(&text);
    assert_ne!(bytes, text.as_bytes(), "the change must change something");
    fs::write(&path, bytes).unwrap();
    let error = read(folder.path()).unwrap_err();
    let message = error.to_string();
    let name = Path::new(file).file_name().unwrap().to_str().unwrap();
    assert!(message.contains(name), "names the file: {message}");
    error
}

const TIMELINE: &str = "ASCEND_PROFILER_OUTPUT/trace_view.json";
const KERNELS: &str = "ASCEND_PROFILER_OUTPUT/kernel_details.csv";
const INFO: &str = "profiler_info_0.json";

fn replaced(from: &'static str, to: &'static str) -> impl Fn(&str) -> Vec<u8> {
    move |text| text.replacen(from, to, 1).into_bytes()
}

#[test]
fn truncated_json_names_its_length() {
    let size = Profile::small().trace_view().len();
    let error = changed(|text| text.as_bytes()[..size / 2].to_vec(), TIMELINE);
    assert!(matches!(error, TraceError::Truncated { offset, .. } if offset == (size / 2) as u64));
    let error = changed(|text| text.as_bytes()[..40].to_vec(), INFO);
    assert!(
        matches!(error, TraceError::Truncated { offset: 40, .. }),
        "{error}"
    );
}

#[test]
fn bad_utf8_names_the_byte_or_the_row() {
    let at = Profile::small().trace_view().find("Gelu_0").unwrap();
    let error = changed(
        |text| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = 0xff;
            bytes
        },
        TIMELINE,
    );
    assert!(
        matches!(error, TraceError::Utf8 { place: Place::Byte(byte), .. } if byte == at as u64),
        "{error}"
    );
    let error = changed(
        |text| {
            let mut bytes = text.as_bytes().to_vec();
            let at = text.find("Gelu_0").unwrap();
            bytes[at] = 0xff;
            bytes
        },
        KERNELS,
    );
    assert!(
        matches!(
            error,
            TraceError::Utf8 {
                place: Place::Row(3),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn malformed_json_names_the_byte() {
    let at = Profile::small().trace_view().find("\"Gelu_0\"").unwrap();
    let error = changed(replaced("\"Gelu_0\"", "Gelu_0\"\""), TIMELINE);
    assert!(
        matches!(error, TraceError::Json { offset, .. } if offset.abs_diff(at as u64) <= 1),
        "{at}: {error}"
    );
}

#[test]
fn a_wrong_number_of_cells_names_the_row() {
    let error = changed(replaced("Gelu_0,Gelu_0", "Gelu_0"), KERNELS);
    assert!(
        matches!(
            error,
            TraceError::Arity {
                row: 3,
                found: 15,
                expected: 16,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_negative_duration_is_refused() {
    let error = changed(replaced("\"dur\":4.980", "\"dur\":-4.980"), TIMELINE);
    assert!(
        matches!(&error, TraceError::NegativeDuration { name, .. } if name == "Gelu_0"),
        "{error}"
    );
    let error = changed(replaced(",4.980,", ",-4.980,"), KERNELS);
    assert!(
        matches!(
            error,
            TraceError::NegativeDuration {
                place: Place::Row(3),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    let error = changed(
        replaced("\"Task Id\":2,", "\"Task Id\":2,\"Task Id\":3,"),
        TIMELINE,
    );
    assert!(
        matches!(&error, TraceError::DuplicateKey { key, .. } if key == "Task Id"),
        "{error}"
    );
    let error = changed(
        replaced("\"rank_id\":0", "\"rank_id\":0,\"rank_id\":1"),
        INFO,
    );
    assert!(
        matches!(&error, TraceError::DuplicateKey { key, .. } if key == "rank_id"),
        "{error}"
    );
}

#[test]
fn ids_beyond_64_bits_are_refused_where_they_join_rows() {
    let error = changed(
        replaced(
            "\"connection_id\":202",
            "\"connection_id\":99999999999999999999",
        ),
        TIMELINE,
    );
    let message = error.to_string();
    assert!(
        message.contains("connection_id") && message.contains("beyond 2^64"),
        "{message}"
    );
    let error = changed(
        replaced("\"Task Id\":2,", "\"Task Id\":4294967296,"),
        TIMELINE,
    );
    assert!(error.to_string().contains("beyond 2^32"), "{error}");
    let error = changed(replaced("\"Task Id\":2,", "\"Task Id\":-1,"), TIMELINE);
    assert!(error.to_string().contains("not an id"), "{error}");
}

#[test]
fn empty_files_are_refused() {
    for file in [TIMELINE, KERNELS, INFO] {
        let error = changed(|_| Vec::new(), file);
        assert!(matches!(error, TraceError::Empty { .. }), "{error}");
    }
}

#[test]
fn a_path_without_a_profile_says_what_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error, TraceError::NoProfile { .. }));
    assert!(error.to_string().contains("trace_view.json"), "{error}");
    let error = read(&folder.path().join("absent")).unwrap_err();
    assert!(matches!(error, TraceError::Io { .. }), "{error}");
}

#[test]
fn a_capture_without_device_tasks_is_refused() {
    let mut profile = Profile::small();
    profile.tasks.clear();
    let folder = tempfile::tempdir().unwrap();
    profile.write(folder.path());
    assert!(matches!(
        read(folder.path()),
        Err(TraceError::NoDeviceTask { .. })
    ));
}

#[test]
fn a_table_without_a_needed_column_names_it() {
    let error = changed(replaced("Start Time(us)", "Begin"), KERNELS);
    assert!(error.to_string().contains("Start Time(us)"), "{error}");
}

/// A change of bytes: cut the end, overwrite, insert, double a part.
#[derive(Debug, Clone)]
enum Damage {
    Cut(f64),
    Overwrite(f64, u8),
    Insert(f64, Vec<u8>),
    Double(f64, f64),
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |part: f64, length: usize| ((part * length as f64) as usize).min(length);
        let length = bytes.len();
        match self {
            Self::Cut(part) => bytes.truncate(at(*part, length)),
            Self::Overwrite(part, byte) => {
                if let Some(target) = bytes.get_mut(at(*part, length)) {
                    *target = *byte;
                }
            }
            Self::Insert(part, extra) => {
                let place = at(*part, length);
                bytes.splice(place..place, extra.iter().copied());
            }
            Self::Double(a, b) => {
                let (start, end) = (at(a.min(*b), length), at(a.max(*b), length));
                let part = bytes[start..end].to_vec();
                bytes.splice(end..end, part);
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let json = prop_oneof![
        Just(b"\"".to_vec()),
        Just(b"}".to_vec()),
        Just(b",".to_vec()),
        Just(b"-".to_vec()),
        Just(b"9999999999999999999999".to_vec()),
        Just(b"e308".to_vec()),
        Just(b"null".to_vec()),
        Just(b"\\ud800".to_vec()),
        Just(b"\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 1..4),
    ];
    prop_oneof![
        (0.0..1.0).prop_map(Damage::Cut),
        ((0.0..1.0), any::<u8>()).prop_map(|(at, byte)| Damage::Overwrite(at, byte)),
        (
            (0.0..1.0),
            prop_oneof![Just(b'-'), Just(b'9'), Just(b'"'), Just(b'.')]
        )
            .prop_map(|(at, byte)| Damage::Overwrite(at, byte)),
        ((0.0..1.0), json).prop_map(|(at, extra)| Damage::Insert(at, extra)),
        ((0.0..1.0), (0.0..1.0)).prop_map(|(a, b)| Damage::Double(a, b)),
    ]
}

#[test]
fn times_that_no_capture_spans_are_refused() {
    // A stray digit: one row centuries from the others.
    for (from, to) in [
        ("\"dur\":4.980", "\"dur\":4980000000000000"),
        ("1800000000000020.020", "800000000000020.020"),
    ] {
        let error = changed(replaced(from, to), TIMELINE);
        assert!(error.to_string().contains("days"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever the bytes, there is a trace or an error.
    #[test]
    fn damage_never_panics(
        timeline in proptest::collection::vec(damage(), 0..3),
        kernels in proptest::collection::vec(damage(), 0..3),
    ) {
        let profile = Profile::rich();
        let mut trace_view = profile.trace_view().into_bytes();
        let mut table = profile.kernel_details().into_bytes();
        timeline.iter().for_each(|damage| damage.apply(&mut trace_view));
        kernels.iter().for_each(|damage| damage.apply(&mut table));
        let folder = tempfile::tempdir().unwrap();
        profile.write_with(folder.path(), &trace_view, &table);
        match read(folder.path()) {
            Ok(trace) => {
                prop_assert!(trace.tasks.iter().all(|task| task.span.len() >= 0));
                let links = Links::of(&trace);
                notifies(&[&trace, &trace]);
                let report = InspectReport::of("damaged", &trace, &links);
                prop_assert!(!report.to_string().is_empty());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
