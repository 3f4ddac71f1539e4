use serde_json::Value;

/// Returns the path of the first field of `found` that `rewritten` lacks, such as
/// `network.publish[1].family`; `None` if every field would be kept.
///
/// `rewritten` is the value that `found` was parsed into, serialized again.
pub fn unknown_field(found: &Value, rewritten: &Value) -> Option<String> {
    let mut path = String::new();
    is_lost(found, rewritten, &mut path).then_some(path)
}

/// Returns true if a field below `path` is lost, and then leaves its path there.
fn is_lost(found: &Value, rewritten: &Value, path: &mut String) -> bool {
    let length = path.len();
    match (found, rewritten) {
        (Value::Object(fields), Value::Object(kept)) => fields.iter().any(|(name, value)| {
            path.truncate(length);
            if length > 0 {
                path.push('.');
            }
            path.push_str(name);
            kept.get(name).is_none_or(|kept| is_lost(value, kept, path))
        }),
        (Value::Array(items), Value::Array(kept)) => {
            items
                .iter()
                .zip(kept)
                .enumerate()
                .any(|(index, (item, kept))| {
                    path.truncate(length);
                    path.push_str(&format!("[{index}]"));
                    is_lost(item, kept, path)
                })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_would_be_lost_is_named_wherever_it_is() {
        let known = json!({"a": 1, "b": {"c": null, "d": [{"e": 1}, {"e": 2}]}, "f": {}});
        assert_eq!(unknown_field(&known, &known), None);
        let lost = |change: &dyn Fn(&mut Value)| {
            let mut found = known.clone();
            change(&mut found);
            unknown_field(&found, &known)
        };
        let at = |path: &str| Some(path.to_owned());
        assert_eq!(lost(&|found| found["x"] = json!(null)), at("x"));
        assert_eq!(lost(&|found| found["b"]["x"] = json!(1)), at("b.x"));
        assert_eq!(
            lost(&|found| found["b"]["d"][1]["x"] = json!(1)),
            at("b.d[1].x")
        );
        assert_eq!(lost(&|found| found["f"]["x"] = json!([])), at("f.x"));
        // A default that is written as well is no loss.
        assert_eq!(unknown_field(&json!({"a": 1}), &known), None);
    }
}
