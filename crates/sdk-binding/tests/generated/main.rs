//! The settings of a guest in Python, in TypeScript and in the schema of `msb inspect`, which are
//! generated from `msb-sandbox-model`. With `MSB_BLESS=1` the tests write them.

mod inspect;
mod python;
mod setting;
mod typescript;

use std::path::Path;

use setting::Setting;

const PYTHON: &str = "sdk/python/python/msb/_types/guest.py";
const TYPESCRIPT: &str = "sdk/typescript/src/types/guest.ts";
const INSPECT: &str = "docs/schemas/inspect.schema.json";
/// The sentence by which a generated file names its source.
const SOURCE: &str = "MSB_BLESS=1 cargo test -p msb-sdk-binding writes this file.";

#[test]
fn the_types_of_python_are_those_of_the_model() {
    compare(PYTHON, |_| python::module(&Setting::all()));
}

#[test]
fn the_types_of_typescript_are_those_of_the_model() {
    compare(TYPESCRIPT, |_| typescript::module(&Setting::all()));
}

#[test]
fn the_schema_of_inspect_has_the_settings_of_the_model() {
    compare(INSPECT, |schema| {
        inspect::with_settings(schema, &Setting::all())
    });
}

/// Compares a file with what is generated for it from its present text, or writes it.
fn compare(path: &str, generate: impl Fn(&str) -> String) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let generated = generate(&written);
    if std::env::var_os("MSB_BLESS").is_some() {
        std::fs::write(&file, &generated).expect("the file can be written");
    } else {
        assert_eq!(written, generated, "{path} is not current: {SOURCE}");
    }
}

/// Returns the lines of a text that are at most `width` characters long, unless a word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
