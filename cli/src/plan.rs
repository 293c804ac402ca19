//! Plans: lists of changes in a TOML file.
//!
//! ```toml
//! # What holds before and after.
//! given = ["eager:us=5"]
//!
//! [[change]]
//! name = "shared-expert-overlap"
//! stream = "S1"
//!
//! [[change]]
//! name = "scale"
//! select = "name=MatMul*"
//! factor = 0.9
//! ```

use std::path::Path;

use ascsim_schedules::rewrite::set_key;
use toml::Value;

use crate::failure::Failure;

/// The changes of a plan, as `--apply` and `--given` take them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// What holds before and after.
    pub(crate) given: Vec<String>,
    /// The changes, in order.
    pub(crate) changes: Vec<String>,
}

/// Reads a plan.
///
/// # Errors
/// If the file cannot be read, is no TOML, or holds something that is no change; the message names the
/// file and the place.
pub(crate) fn read(path: &Path) -> Result<Plan, Failure> {
    let text = std::fs::read_to_string(path).map_err(|source| Failure::Read {
        path: path.to_path_buf(),
        source,
    })?;
    parse(&text).map_err(|why| Failure::Input(format!("{}: {why}", path.display())))
}

fn parse(text: &str) -> Result<Plan, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let mut plan = Plan::default();
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("given", Value::Array(list)) => {
                for value in list {
                    let text = value.as_str().ok_or_else(|| {
                        "`given` must be a list of changes as text, such as \"eager:us=5\""
                            .to_owned()
                    })?;
                    plan.given.push(text.to_owned());
                }
            }
            ("change", Value::Array(list)) => {
                for (number, value) in list.iter().enumerate() {
                    let change = change(value)
                        .map_err(|why| format!("change number {}: {why}", number + 1))?;
                    plan.changes.push(change);
                }
            }
            (other, _) => {
                return Err(format!(
                    "there is no `{other}` in a plan: it has `given`, a list, and tables `[[change]]`"
                ));
            }
        }
    }
    Ok(plan)
}

fn change(value: &Value) -> Result<String, String> {
    let table = value
        .as_table()
        .ok_or_else(|| "expected a table `[[change]]`".to_owned())?;
    let name = table
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| "it needs `name`, the name of the change".to_owned())?;
    let mut text = name.to_owned();
    for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            _ => return Err(format!("`{key}` must be text, a number or a boolean")),
        };
        text = set_key(&text, key, &value).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_becomes_changes() {
        let plan = parse(
            "given = [\"eager:us=5\"]\n[[change]]\nname = \"scale\"\nselect = \"name=A,B\"\nfactor = 0.5\n\
             [[change]]\nname = \"one-stream\"\n",
        )
        .expect("a plan");
        assert_eq!(plan.given, ["eager:us=5"]);
        assert_eq!(plan.changes.len(), 2);
        assert!(
            plan.changes[0].contains("select=name=A\\,B"),
            "{:?}",
            plan.changes
        );
        assert!(plan.changes[0].contains("factor=0.5"), "{:?}", plan.changes);
        assert_eq!(plan.changes[1], "one-stream");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| parse(text).expect_err(text);
        assert!(error("changes = []").contains("there is no `changes`"));
        assert!(error("[[change]]\nfactor = 1").contains("change number 1: it needs `name`"));
        assert!(error("[[change]]\nname = \"scale\"\nby = 2").contains("no key `by`"));
        assert!(error("[[change]]\nname = \"nope\"\nby = 2").contains("no change `nope`"));
        assert!(error("given = 3").contains("given"));
        assert!(error("given = [3]").contains("list of changes"));
        assert!(error("a = ").contains("TOML") || error("a = ").contains("line 1"));
    }
}
