use std::fs;
use std::path::Path;

use msb_sdk::Msb;

use super::*;
use crate::Settings;

/// The tools as clients get them. `MSB_BLESS=1 cargo test -p msb-mcp` writes the file.
const GOLDEN: &str = "src/tools/tools.json";

fn listed(applies: bool) -> Vec<Value> {
    let home = tempfile::tempdir().expect("a directory");
    let msb = Msb::builder().home(home.path()).build().expect("a client");
    let settings = Settings {
        applies,
        ..Settings::default()
    };
    let tools = all(&Session::new(msb, settings)).into_iter();
    let tools = tools.map(|tool| serde_json::to_value(tool).expect("written"));
    tools.collect()
}

#[test]
fn the_tools_are_those_that_were_reviewed() {
    let tools = Value::Array(listed(true));
    let written = serde_json::to_string_pretty(&tools).expect("written") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("MSB_BLESS").is_some() {
        fs::write(&path, &written).expect("written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == written,
        "{GOLDEN} is not what the code has: MSB_BLESS=1 cargo test -p msb-mcp writes it\n{written}"
    );
}

#[test]
fn each_tool_describes_itself() {
    let tools = listed(true);
    assert_eq!(tools.len(), TOOLS.len());
    for tool in &tools {
        let name = tool["name"].as_str().expect("a name");
        assert!(name.starts_with("sandbox_"), "{name}");
        assert!(
            !tool["description"].as_str().unwrap_or_default().is_empty(),
            "{name}"
        );
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name} {schema}");
            let properties = tool[schema]["properties"].as_object().expect("properties");
            for (key, property) in properties {
                let described = property["description"].as_str().unwrap_or_default();
                assert!(
                    described.ends_with('.'),
                    "{name} {schema} {key}: {property}"
                );
            }
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        // The first byte of a file has number 0.
        for (key, argument) in tool["inputSchema"]["properties"].as_object().expect(name) {
            let is_counted = argument["type"] == "integer" && key != "offset";
            assert!(!is_counted || argument["minimum"] == 1, "{name} {key}");
        }
        let text = tool.to_string();
        for refused in ["$ref", "\"null\"", "\"format\":\"", "$schema"] {
            assert!(!text.contains(refused), "{name} has {refused}: {text}");
        }
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
    }
}

#[test]
fn only_what_needs_an_argument_requires_one() {
    let required = |name: &str| {
        let tools = listed(true);
        let tool = tools.iter().find(|tool| tool["name"] == name).cloned();
        let required = tool.expect(name)["inputSchema"]["required"].clone();
        required.as_array().cloned().unwrap_or_default()
    };
    assert_eq!(required("sandbox_create"), Vec::<Value>::new());
    assert_eq!(required("sandbox_exec"), ["command"]);
    assert_eq!(required("sandbox_read_file"), ["path"]);
    assert_eq!(
        required("sandbox_edit_file"),
        ["path", "old_text", "new_text"]
    );
    assert_eq!(required("sandbox_remove"), ["name"]);
}

#[test]
fn reading_is_read_only_and_what_loses_files_is_destructive() {
    let with = |hint: &str| {
        let tools = listed(true).into_iter();
        let tools = tools.filter(|tool| tool["annotations"][hint] == true);
        let names = tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
        names.collect::<Vec<_>>()
    };
    let reading = ["read_file", "list_files", "diff", "logs", "list"];
    assert_eq!(
        with("readOnlyHint"),
        reading.map(|name| format!("sandbox_{name}"))
    );
    let losing = [
        "exec",
        "write_file",
        "edit_file",
        "apply",
        "rollback",
        "undo",
        "remove",
    ];
    assert_eq!(
        with("destructiveHint"),
        losing.map(|name| format!("sandbox_{name}"))
    );
    assert_eq!(
        with("openWorldHint"),
        ["create", "exec"].map(|name| format!("sandbox_{name}"))
    );
}

#[test]
fn a_session_that_applies_nothing_has_no_tool_for_it() {
    let names = |applies| {
        let tools = listed(applies).into_iter();
        let names = tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
        names.collect::<Vec<_>>()
    };
    let (all, less) = (names(true), names(false));
    assert_eq!(all.len(), less.len() + 1);
    assert!(
        all.contains(&"sandbox_apply".to_owned()) && !less.contains(&"sandbox_apply".to_owned())
    );
}

#[test]
fn numbers_have_a_default_and_bounds() {
    assert_eq!(number("tail", None, 200, 2000), Ok(200));
    assert_eq!(number("tail", Some(2000), 200, 2000), Ok(2000));
    for wanted in [0, 2001, u64::MAX] {
        let refused = number("tail", Some(wanted), 200, 2000).expect_err("out of bounds");
        let expected = format!("tail: {wanted} is not a number from 1 to 2000");
        assert!(refused.text().starts_with(&expected), "{}", refused.text());
    }
}
