//! The published JSON Schemas.

use schemars::generate::SchemaSettings;

use super::Document;

/// The JSON Schema (draft 2020-12) of a document, as text. It is published in `schema/`.
///
/// It describes what this version writes and allows what a later minor version adds. What
/// [`validate`](crate::validate) checks is mostly beyond a schema.
pub fn json_schema<T: Document>() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<T>();
    let mut value = schema.to_value();
    value.sort_all_objects();
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::format::{Encoding, to_bytes};
    use crate::testing::{Choices, arbitrary_prediction, arbitrary_schedule, schedule};
    use crate::{Prediction, Schedule};

    /// `UPDATE_EXPECT=1 cargo test` writes them.
    #[test]
    fn the_published_schemas_are_current() {
        expect_file!["../../schema/schedule.schema.json"].assert_eq(&json_schema::<Schedule>());
        expect_file!["../../schema/prediction.schema.json"].assert_eq(&json_schema::<Prediction>());
    }

    fn validator<T: Document>() -> jsonschema::Validator {
        let schema = serde_json::from_str(&json_schema::<T>()).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    }

    fn written<T: Document>(document: &T) -> Value {
        serde_json::from_slice(&to_bytes(document, Encoding::Json).unwrap()).unwrap()
    }

    #[test]
    fn every_schedule_that_is_written_fits_the_schema() {
        let validator = validator::<Schedule>();
        proptest!(|(schedule in arbitrary_schedule())| {
            let errors: Vec<_> = validator.iter_errors(&written(&schedule))
                .map(|error| format!("{}: {error}", error.instance_path())).collect();
            prop_assert!(errors.is_empty(), "{errors:?}");
        });
    }

    #[test]
    fn every_prediction_that_is_written_fits_the_schema() {
        let validator = validator::<Prediction>();
        proptest!(|(prediction in arbitrary_prediction())| {
            let file = written(&prediction);
            prop_assert!(validator.is_valid(&file), "{:?}", validator.validate(&file));
        });
    }

    #[test]
    fn the_schema_refuses_what_readers_refuse() {
        let validator = validator::<Schedule>();
        let sound = written(&schedule(&mut Choices::new(Vec::new())));
        assert!(validator.is_valid(&sound));
        let edits: &[(&str, Value)] = &[
            ("format", "ascsim.schedule/2".into()),
            ("name", 1.into()),
            ("programs", Value::Null),
            (
                "streams",
                serde_json::json!([{"name": "A", "priority": -1}]),
            ),
            (
                "streams",
                serde_json::json!([{"name": "A", "core_limit": {"aix": 1}}]),
            ),
            (
                "programs",
                serde_json::json!([{"name": "p", "ops": [{"id": "a"}]}]),
            ),
        ];
        for (field, value) in edits {
            let mut file = sound.clone();
            file[*field] = value.clone();
            assert!(!validator.is_valid(&file), "{field} = {value}");
        }
    }

    /// The generator leaves no field and no variant out: every name that the schema knows occurs in
    /// what it makes.
    #[test]
    fn random_schedules_use_every_field_and_variant() {
        let mut missing = std::collections::BTreeSet::new();
        let schema: Value = serde_json::from_str(&json_schema::<Schedule>()).unwrap();
        names_of_schema(&schema, &mut missing);
        assert!(missing.len() > 200, "{}", missing.len());
        // Defaults, which are left out.
        for default in ["ex", "hbm", "normal", "unknown", "whole"] {
            assert!(missing.remove(default), "{default}");
        }
        let mut state = 1_u32;
        for _ in 0..400 {
            let numbers = std::iter::repeat_with(|| {
                // A linear congruential generator; its upper half is random enough.
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 8
            });
            let numbers = numbers.take(1_500).collect();
            names_of_file(
                &written(&schedule(&mut Choices::new(numbers))),
                &mut missing,
            );
        }
        assert!(missing.is_empty(), "never made: {missing:?}");
    }

    fn names_of_schema(schema: &Value, names: &mut std::collections::BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("properties", Value::Object(properties)) => {
                            names.extend(properties.keys().cloned());
                        }
                        ("const", Value::String(text)) => drop(names.insert(text.clone())),
                        ("enum", Value::Array(list)) => {
                            names.extend(list.iter().filter_map(|v| v.as_str().map(str::to_owned)));
                        }
                        _ => {}
                    }
                    names_of_schema(value, names);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| names_of_schema(value, names)),
            _ => {}
        }
    }

    fn names_of_file(file: &Value, missing: &mut std::collections::BTreeSet<String>) {
        match file {
            Value::Object(fields) => {
                for (name, value) in fields {
                    missing.remove(name);
                    names_of_file(value, missing);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| names_of_file(value, missing)),
            Value::String(text) => drop(missing.remove(text)),
            _ => {}
        }
    }
}
