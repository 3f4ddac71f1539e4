use std::fmt::Write as _;

use super::SOURCE;
use super::setting::{Kind, Setting};

/// Returns the module of the settings.
pub(crate) fn module(settings: &[Setting]) -> String {
    let mut text = format!(
        "/** The settings of a guest. {SOURCE} */\n\
         import type {{ Size }} from \"./client.js\";\n\n\
         /** The settings of a sandbox's guest. */\n\
         export interface GuestSettings {{\n"
    );
    for setting in settings {
        let (name, kind) = (camel_case(&setting.name), kind(&setting.kind));
        writeln!(
            text,
            "  /** {} */\n  readonly {name}?: {kind} | undefined;",
            setting.text
        )
        .expect("text can be written to");
    }
    let of_users = settings
        .iter()
        .filter(|setting| matches!(setting.kind, Kind::Texts));
    let of_users: Vec<_> = of_users
        .map(|setting| format!("\"{}\"", setting.name))
        .collect();
    write!(
        text,
        "}}\n\n/** The settings whose keys are the user's own names. */\n\
         export const GUEST_USER_KEYS: readonly string[] = [{}];\n",
        of_users.join(", ")
    )
    .expect("text can be written to");
    text
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "boolean".to_owned(),
        Kind::Number(_) => "number".to_owned(),
        Kind::Size => "Size".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::Word(words) => format!("\"{}\"", words.join("\" | \"")),
        Kind::Texts => "Readonly<Record<string, string>>".to_owned(),
        Kind::List => "readonly string[]".to_owned(),
    }
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (initial, rest) = part.split_at(1);
        name + &initial.to_uppercase() + rest
    })
}
