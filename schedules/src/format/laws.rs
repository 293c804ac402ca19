//! What holds for every schedule.

use proptest::prelude::*;

use super::*;
use crate::testing::{arbitrary_prediction, arbitrary_schedule};
use crate::{Prediction, Schedule};

fn comes_back<T: Document + PartialEq + std::fmt::Debug>(
    document: &T,
) -> Result<(), TestCaseError> {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let bytes = to_bytes(document, encoding).unwrap();
        let again: T = read(&bytes).unwrap();
        prop_assert_eq!(&again, document);
        prop_assert_eq!(to_bytes(&again, encoding).unwrap(), bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn schedules_come_back_byte_by_byte(schedule in arbitrary_schedule()) {
        comes_back(&schedule)?;
    }

    #[test]
    fn predictions_come_back_byte_by_byte(prediction in arbitrary_prediction()) {
        comes_back(&prediction)?;
    }

    /// Sorted fields, as other tools write them, are the same schedule.
    #[test]
    fn the_order_of_fields_does_not_matter(schedule in arbitrary_schedule()) {
        let bytes = to_bytes(&schedule, Encoding::Json).unwrap();
        let mut value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        value.sort_all_objects();
        let again: Schedule = read(value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(to_bytes(&again, Encoding::Json).unwrap(), bytes);
    }

    /// Whatever is done to a file, it is read or refused, and never more than it says.
    #[test]
    fn damaged_files_are_refused_or_read(
        schedule in arbitrary_schedule(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        binary in any::<bool>(),
    ) {
        let encoding = if binary { Encoding::Binary } else { Encoding::Json };
        let mut bytes = to_bytes(&schedule, encoding).unwrap();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len()) / 8);
        if let Err(error) = read::<Schedule>(&bytes)
            && !matches!(error, ReadError::Unpacked(_))
            && let Some(offset) = error.offset()
        {
            prop_assert!(offset <= bytes.len() as u64, "{}", error);
        }
    }
}

#[test]
fn a_prediction_is_no_schedule() {
    let schedule = to_bytes(&Schedule::default(), Encoding::Binary).unwrap();
    let error = read::<Prediction>(&schedule).unwrap_err().to_string();
    assert!(error.contains("ascsim.schedule/1"), "{error}");
}
