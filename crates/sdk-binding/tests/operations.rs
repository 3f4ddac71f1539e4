//! The operations against their committed list, which other languages are checked with.

use std::fmt::Write as _;
use std::path::Path;

use msb_sdk_binding::OperationInfo;

/// Returns the list as the file has it.
fn written() -> String {
    let mut text = String::from(
        "# The operations of the SDK's bindings: the object that an operation is called on, its name, and the\n\
         # names of its parameters. MSB_BLESS=1 cargo test -p msb-sdk-binding writes this file.\n",
    );
    for OperationInfo {
        on,
        name,
        parameters,
    } in OperationInfo::all()
    {
        let quoted: Vec<_> = parameters.iter().map(|name| format!("{name:?}")).collect();
        let parameters = match quoted.join(", ") {
            line if line.len() > 80 => format!("\n    {},\n", quoted.join(",\n    ")),
            line => line,
        };
        write!(
            text,
            "\n[[operation]]\non = {on:?}\nname = {name:?}\nparameters = [{parameters}]\n"
        )
        .expect("text can be written to");
    }
    text
}

#[test]
fn the_operations_are_those_of_the_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("operations.toml");
    let written = written();
    if std::env::var_os("MSB_BLESS").is_some() {
        std::fs::write(&path, &written).expect("the list can be written");
    }
    let listed = std::fs::read_to_string(&path).expect("the list is committed");
    assert_eq!(listed, written, "operations.toml is not current");
    let table: toml::Table = listed.parse().expect("the list is TOML");
    let count = table["operation"].as_array().map_or(0, Vec::len);
    assert_eq!(count, OperationInfo::all().count());
}

#[test]
fn every_name_is_in_snake_case() {
    for operation in OperationInfo::all() {
        let names = operation.parameters.iter().map(String::as_str);
        for name in names.chain(operation.name.split('.')) {
            let is_snake = name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            assert!(is_snake && !name.is_empty(), "{name} of {}", operation.name);
        }
    }
}
