//! Comparison of results with the expectations of behaviours.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use msb_sdk::{Bytes, Error};
use serde_json::Value;

use super::data;

/// A field of a result.
#[derive(Debug)]
pub(super) enum Field {
    Data(Bytes),
    Plain(Value),
}

/// The fields of a result, by their names in the data.
pub(super) type Fields = BTreeMap<&'static str, Field>;

/// Returns a plain field.
pub(super) fn plain(value: impl Into<Value>) -> Field {
    Field::Plain(value.into())
}

/// Checks each expected field of a result.
pub(super) fn check_result(result: &Fields, expected: &Value) -> Result<()> {
    for (name, wanted) in expected.as_object().into_iter().flatten() {
        let found = result.get(name.as_str());
        match found.with_context(|| format!("the result has no {name}"))? {
            Field::Data(found) => {
                let wanted = data::bytes(wanted)?;
                ensure!(
                    *found == wanted,
                    "{name} is {}, not {}",
                    shown(found),
                    shown(&wanted)
                );
            }
            Field::Plain(found) => ensure!(found == wanted, "{name} is {found}, not {wanted}"),
        }
    }
    Ok(())
}

/// Checks that an error is the expected one. A kind may be one of several, separated by `|`.
pub(super) fn check_error(error: &Error, expected: &Value) -> Result<()> {
    let kind = error.kind().name();
    let wanted = expected["kind"].as_str().context("no kind")?;
    ensure!(
        wanted.split('|').any(|one| one == kind),
        "{kind} ({error}), not {wanted}"
    );
    ensure!(
        error.code() == kebab_case(&kind),
        "the code is {}",
        error.code()
    );
    if !expected["message"].is_null() {
        let part = &expected["message"];
        let part = part
            .as_str()
            .map_or_else(|| part.to_string(), str::to_owned);
        ensure!(
            error.message().contains(&part),
            "'{error}' does not contain '{part}'"
        );
    }
    if expected["hint"] == true {
        ensure!(error.hint().is_some(), "'{error}' has no hint");
    }
    for (name, value) in expected["details"].as_object().into_iter().flatten() {
        let found = error.details().get(name);
        ensure!(
            found == Some(value),
            "details.{name} is {found:?}, not {value}"
        );
    }
    for (name, found) in [("stdout", error.stdout()), ("stderr", error.stderr())] {
        if let Some(wanted) = expected.get(name) {
            let wanted = data::bytes(wanted)?;
            ensure!(
                *found == wanted,
                "{name} is {}, not {}",
                shown(found),
                shown(&wanted)
            );
        }
    }
    if let Some(limit) = expected["stdout_bytes_max"].as_u64() {
        let length = u64::try_from(error.stdout().len())?;
        if length == 0 || length > limit {
            bail!("{length} bytes of standard output, not 1 to {limit}");
        }
    }
    Ok(())
}

fn kebab_case(name: &str) -> String {
    let mut code = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !code.is_empty() {
            code.push('-');
        }
        code.push(letter.to_ascii_lowercase());
    }
    code
}

fn shown(bytes: &[u8]) -> String {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]);
    format!("{start:?} ({} bytes)", bytes.len())
}
