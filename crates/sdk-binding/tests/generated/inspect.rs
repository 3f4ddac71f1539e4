//! The schema of a description is written by hand but for the settings of the guest. They are replaced
//! as lines, so the order and the form of all others stay.

use msb_sandbox_model::GROUPED;
use serde_json::Value;

use super::setting::Setting;

/// The indentation of the properties of a sandbox, in spaces.
const INDENT: usize = 6;

/// Returns the schema with these settings.
pub(crate) fn with_settings(schema: &str, settings: &[Setting]) -> String {
    let mut lines: Vec<String> = schema.lines().map(str::to_owned).collect();
    for setting in settings {
        let name = setting.name.as_str();
        let grouped = GROUPED.iter().find(|(grouped, _, _)| *grouped == name);
        let mut members = setting.kind.members(setting.is_nullable);
        members.insert("description".to_owned(), setting.text.clone().into());
        let property = Value::Object(members);
        match grouped {
            Some((_, object, key)) => {
                let all = (0, lines.len() - 1);
                let object = block(&lines, object, INDENT, all).expect("the object exists");
                put(&mut lines, key, &property, INDENT + 4, object);
            }
            None => {
                let all = (0, lines.len() - 1);
                put(&mut lines, name, &property, INDENT, all);
            }
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    serde_json::from_str::<Value>(&text).expect("the schema is JSON");
    text
}

/// Returns the first and the last line of a member, which is between two lines.
fn block(
    lines: &[String],
    key: &str,
    indent: usize,
    (from, to): (usize, usize),
) -> Option<(usize, usize)> {
    let (begin, end) = (
        format!("{:indent$}\"{key}\": {{", ""),
        format!("{:indent$}}}", ""),
    );
    let first = (from..=to).find(|&line| lines[line] == begin)?;
    let last = (first..=to).find(|&line| lines[line].trim_end_matches(',') == end)?;
    Some((first, last))
}

/// Replaces a property of the object between two lines, or adds it as the first one.
fn put(
    lines: &mut Vec<String>,
    key: &str,
    property: &Value,
    indent: usize,
    object: (usize, usize),
) {
    let pretty = serde_json::to_string_pretty(property).expect("it is JSON");
    let mut new: Vec<String> = pretty
        .lines()
        .map(|line| format!("{:indent$}{line}", ""))
        .collect();
    new[0] = format!("{:indent$}\"{key}\": {{", "");
    let last = new.len() - 1;
    if let Some((first, end)) = block(lines, key, indent, object) {
        let comma = if lines[end].ends_with(',') { "," } else { "" };
        new[last].push_str(comma);
        lines.splice(first..=end, new);
        return;
    }
    new[last].push(',');
    let outer = indent - 2;
    insert(
        lines,
        &format!("{:outer$}\"properties\": {{", ""),
        object.0,
        new,
    );
    let required = vec![format!("{:indent$}\"{key}\",", "")];
    insert(
        lines,
        &format!("{:outer$}\"required\": [", ""),
        object.0,
        required,
    );
}

/// Inserts lines behind the first line from `from` on that is `before`.
fn insert(lines: &mut Vec<String>, before: &str, from: usize, new: Vec<String>) {
    let found = (from..lines.len()).find(|&line| lines[line] == before);
    let at = found.expect("the schema has it") + 1;
    lines.splice(at..at, new);
}
