use std::fmt::Write as _;

use super::setting::{Kind, Setting};
use super::{SOURCE, wrapped};

/// The maximum length of a line, in characters.
const WIDTH: usize = 120;

/// Returns the module of the settings.
pub(crate) fn module(settings: &[Setting]) -> String {
    let mut text = format!(
        "\"\"\"The settings of a guest. {SOURCE}\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Mapping, Sequence\n\
         from typing import Literal, TypedDict\n\n\
         from .._values import Size\n\n\n\
         class GuestSettings(TypedDict, total=False):\n    \
         \"\"\"The settings of a sandbox's guest.\"\"\"\n\n"
    );
    for setting in settings {
        let docs = wrapped(&format!("\"\"\"{}\"\"\"", setting.text), WIDTH - 4).join("\n    ");
        writeln!(
            text,
            "    {}: {}\n    {docs}",
            setting.name,
            kind(&setting.kind)
        )
        .expect("text can be written to");
    }
    text
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "bool".to_owned(),
        Kind::Number(_) => "int".to_owned(),
        Kind::Size => "Size".to_owned(),
        Kind::Text => "str".to_owned(),
        Kind::Word(words) => format!("Literal[\"{}\"]", words.join("\", \"")),
        Kind::Texts => "Mapping[str, str]".to_owned(),
        Kind::List => "Sequence[str]".to_owned(),
    }
}
