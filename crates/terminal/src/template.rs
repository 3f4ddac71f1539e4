//! Templates in Go's syntax for `--format`: text with fields of the listed objects.

use std::str::FromStr;

use anyhow::anyhow;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, printable};
use crate::{output, table};

/// A template for the lines of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
    /// True if the lines are rows of a table, with tabs between the cells.
    is_table: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field {
        /// Keys that lead to the field; empty for the whole row.
        path: Vec<String>,
        is_json: bool,
    },
}

/// The prefix of a template whose lines are a table.
const TABLE: &str = "table ";

/// The format of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListingFormat {
    /// Columns for people.
    #[default]
    Table,
    /// JSON for programs, with stable keys.
    Json,
    /// A line for each row, made with a template.
    Template(Template),
}

impl FromStr for ListingFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "table" => Ok(Self::Table),
            "json" => Ok(Self::Json),
            template if template.contains("{{") => template.parse().map(Self::Template),
            _ => Err("write table, json, or a template such as '{{.Name}}'".to_owned()),
        }
    }
}

/// Returns the keys of one of msb's rows, with Docker's names for the same values beside them.
pub fn fields(row: &impl Serialize, docker: Value) -> serde_json::Result<Value> {
    let mut fields = serde_json::to_value(row)?;
    if let (Some(fields), Value::Object(docker)) = (fields.as_object_mut(), docker) {
        fields.extend(docker);
    }
    Ok(fields)
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (is_table, mut rest) = match text.strip_prefix(TABLE) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut pieces = Vec::new();
        while let Some((before, after)) = rest.split_once("{{") {
            let (action, behind) = after
                .split_once("}}")
                .ok_or_else(|| format!("'{text}' has {{{{ without }}}}"))?;
            pieces.push(Piece::Text(unescaped(before)));
            pieces.push(field(action)?);
            rest = behind;
        }
        pieces.push(Piece::Text(unescaped(rest)));
        Ok(Self { pieces, is_table })
    }
}

/// Replaces `\t` and `\n`, as Docker does before Go parses the template.
fn unescaped(text: &str) -> String {
    text.replace("\\t", "\t").replace("\\n", "\n")
}

fn field(action: &str) -> Result<Piece, String> {
    let trimmed = action.trim_matches('-').trim();
    let (is_json, path) = match trimmed.strip_prefix("json ") {
        Some(path) => (true, path.trim()),
        None => (false, trimmed),
    };
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let names: Option<Vec<&str>> = match path {
        "." => Some(Vec::new()),
        path => path.strip_prefix('.').map(|path| path.split('.').collect()),
    };
    match names {
        Some(names) if names.iter().all(|name| is_name(name)) => Ok(Piece::Field {
            path: names.into_iter().map(str::to_owned).collect(),
            is_json,
        }),
        _ => Err(format!(
            "'{{{{{action}}}}}' is not supported in a template: write {{{{.Name}}}}, \
             {{{{.Name.Name}}}} or {{{{json .Name}}}}; --format json prints every key"
        )),
    }
}

impl Template {
    /// Prints a line for each of `rows`, which are JSON objects, below headings if it is a table.
    ///
    /// # Errors
    /// A field that a row does not have.
    pub fn print(&self, rows: &[Value]) -> Result<(), Failure> {
        let mut lines = Vec::new();
        if self.is_table {
            lines.push(self.heading());
        }
        for row in rows {
            lines.push(self.line(row)?);
        }
        let text: String = if self.is_table {
            let cells = lines.iter().map(|line| line.split('\t').map(str::to_owned));
            let cells: Vec<Vec<String>> = cells.map(Iterator::collect).collect();
            table::columns(&cells)
        } else {
            lines.iter().map(|line| format!("{line}\n")).collect()
        };
        Ok(output::print(&text)?)
    }

    fn heading(&self) -> String {
        let heading = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Field { path, .. } => path
                .last()
                .map(|name| name.to_uppercase())
                .unwrap_or_default(),
        };
        self.pieces.iter().map(heading).collect()
    }

    fn line(&self, row: &Value) -> Result<String, Failure> {
        let mut line = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => line.push_str(text),
                Piece::Field { path, is_json } => {
                    let value = find(row, path)?;
                    line.push_str(&if *is_json {
                        terminal_text::escaped_json(&value.to_string()).into_owned()
                    } else {
                        printable(&shown(value))
                    });
                }
            }
        }
        Ok(line)
    }
}

fn find<'a>(row: &'a Value, path: &[String]) -> Result<&'a Value, Failure> {
    let mut value = row;
    for name in path {
        value = value.get(name).ok_or_else(|| no_field(value, name))?;
    }
    Ok(value)
}

/// The most fields that an error names.
const NAMED_MAX: usize = 12;

/// Fields of docker's that templates often have, and what msb has for them.
const DOCKERS: &[(&str, &str)] = &[
    (
        "Pid",
        "the sandbox's machine is .machine_pid, and msb top lists the processes in it",
    ),
    (
        "NetworkSettings",
        "every sandbox has its own network with the same address; msb port lists its ports",
    ),
    (
        "HostConfig",
        "--format json prints the settings of a sandbox under their own keys",
    ),
    ("Mounts", "the mounts are .mounts"),
    ("RestartCount", "msb does not count restarts"),
];

fn no_field(value: &Value, name: &str) -> Failure {
    if let Some((_, instead)) = DOCKERS.iter().find(|(field, _)| *field == name) {
        return anyhow!("'.{name}' is not a field: {instead}").into();
    }
    let fields = value.as_object().map(|fields| {
        let names: Vec<String> = fields.keys().map(|name| format!(".{name}")).collect();
        match names.split_at_checked(NAMED_MAX) {
            Some((named, rest)) if !rest.is_empty() => format!(
                "{} and {} more, which --format json prints",
                named.join(", "),
                rest.len()
            ),
            _ => names.join(", "),
        }
    });
    let fields = fields.filter(|names| !names.is_empty());
    let fields = fields.unwrap_or_else(|| "none".to_owned());
    anyhow!("'.{name}' is not a field: write one of {fields}").into()
}

/// Formats a value as Go does.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("[{}]", values.join(" "))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{name}:{}", shown(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(template: &str) -> Result<String, Failure> {
        let row = json!({
            "Names": "work", "ID": "0123", "State": {"Status": "running", "ExitCode": 0},
            "Config": {"Cmd": ["sh", "-c"], "Labels": {"a": "1", "b": "2"}}, "Image": "x\u{1b}[31m",
            "Nothing": null,
        });
        template
            .parse::<Template>()
            .map_err(|error| anyhow!(error))?
            .line(&row)
    }

    #[test]
    fn fields_are_put_in_their_places() {
        for (template, expected) in [
            ("{{.Names}}", "work"),
            ("{{ .ID }}: {{.State.Status}}", "0123: running"),
            ("{{- .State.ExitCode -}}", "0"),
            (r"{{.ID}}\t{{.Names}}", "0123\twork"),
            ("{{json .State}}", r#"{"ExitCode":0,"Status":"running"}"#),
            ("{{.Config.Cmd}} {{.Config.Labels}}", "[sh -c] map[a:1 b:2]"),
            ("{{.Nothing}} }}", "<nil> }}"),
            ("{{.Image}}", "x\\u{1b}[31m"),
        ] {
            assert_eq!(line(template).expect(template), expected);
        }
    }

    #[test]
    fn what_is_not_read_is_refused_with_what_there_is() {
        for template in [
            "{{range .Mounts}}x{{end}}",
            "{{if .ID}}",
            "{{.ID | upper}}",
            "{{index .Config.Labels \"a\"}}",
            "{{}}",
            "{{json}}",
            "{{.a..b}}",
        ] {
            let refused = line(template).expect_err(template).line();
            assert!(refused.contains("--format json"), "{refused}");
        }
        let refused = line("{{.ID").expect_err("open").line();
        assert!(refused.contains("without }}"), "{refused}");
        let refused = line("{{.State.Health}}").expect_err("no field").line();
        assert!(refused.contains("'.Health'") && refused.contains(".ExitCode, .Status"));
        for (template, part) in [
            ("{{.State.Pid}}", ".machine_pid"),
            ("{{.NetworkSettings.IPAddress}}", "msb port"),
            ("{{.HostConfig.Memory}}", "--format json"),
        ] {
            let refused = line(template).expect_err(template).line();
            assert!(refused.contains(part), "{refused}");
        }
        let many: serde_json::Map<_, _> = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
        let refused = no_field(&Value::Object(many), "x").line();
        assert!(
            refused.contains("and 88 more") && refused.len() < 160,
            "{refused}"
        );
        assert!(
            line("{{.ID.more}}")
                .expect_err("no field")
                .line()
                .contains("none")
        );
    }

    #[test]
    fn a_table_has_headings() {
        let template: Template = r"table {{.ID}}\t{{.State.Status}}"
            .parse()
            .expect("a template");
        assert_eq!(template.heading(), "ID\tSTATUS");
    }
}
