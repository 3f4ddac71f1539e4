use crate::options::Effect;
use crate::{commands, guesses, options, values};

#[test]
fn each_row_reads_as_a_line() {
    let mut lines: Vec<&str> = commands::ALL
        .iter()
        .map(|missing| missing.instead)
        .collect();
    for group in options::ALL {
        lines.push(match group.effect {
            Effect::Refused(text) | Effect::Needless { why: text, .. } => text,
        });
    }
    lines.extend(values::ALL.iter().map(|missing| missing.instead));
    lines.extend(values::SETTINGS.iter().map(|missing| missing.instead));
    for line in lines {
        let is_one = !line.contains('\n') && !line.ends_with('.') && line.trim() == line;
        assert!(is_one && line.len() < 160, "{line}");
    }
}

#[test]
fn an_answer_is_found_for_its_command_alone() {
    assert!(commands::answer("system", &["events"]).is_some());
    assert_eq!(commands::answer("volume", &["events"]), None);
    assert_eq!(commands::answer("", &[]), None);
    // Two words go before the first of them.
    let answer = commands::answer("", &["network", "ls"]);
    assert!(answer.is_some_and(|answer| answer.contains("no networks to list")));
    let answer = commands::answer("network", &["create", "n"]);
    assert!(answer.is_some_and(|answer| answer.contains("no networks to manage")));
    assert_eq!(commands::answer("network", &["allow"]), None);
    assert!(options::answer("container run", "--gpus").is_some());
    assert_eq!(options::answer("pull", "--gpus"), None);
    assert_eq!(options::answer("run", "--privileged"), None);
    assert!(values::answer("--network", "container:a").is_some());
    assert_eq!(values::answer("--network", "outbound"), None);
    assert!(values::setting_answer("--volume", "/d:/d:ro,cached").is_some());
    assert_eq!(values::setting_answer("--volume", "/d:/cached"), None);
    assert!(guesses::answer("container run", "--ttl").is_some());
    assert_eq!(guesses::answer("image", "--ttl"), None);
}

/// Returns the table of commands in the form of the page for Docker's users.
fn commands_as_markdown() -> String {
    let mut rows: Vec<(Vec<&str>, &str)> = Vec::new();
    for missing in commands::ALL {
        let line = missing.instead;
        match rows.iter_mut().find(|(_, others)| *others == line) {
            Some((words, _)) => words.push(missing.words),
            None => rows.push((vec![missing.words], line)),
        }
    }
    let mut text = "| command | what msb says |\n|---|---|\n".to_owned();
    for (words, line) in rows {
        text.push_str(&format!("| {} | {} |\n", quoted(&words), escaped(line)));
    }
    text
}

/// Returns the table of options in the form of the same page.
fn options_as_markdown() -> String {
    let mut text = "| option | of | what msb says |\n|---|---|---|\n".to_owned();
    for group in options::ALL {
        let (names, commands) = (quoted(group.names), quoted(group.commands));
        let line = match group.effect {
            Effect::Refused(line) => line.to_owned(),
            Effect::Needless { why, .. } => format!("accepted, changes nothing: {why}"),
        };
        text.push_str(&format!("| {names} | {commands} | {} |\n", escaped(&line)));
    }
    for missing in values::ALL {
        let (option, value) = (missing.option, missing.value);
        let rest = if missing.is_prefix { "..." } else { "" };
        let line = escaped(missing.instead);
        text.push_str(&format!("| `{option} {value}{rest}` | | {line} |\n"));
    }
    for missing in values::SETTINGS {
        let form = |name: &&str| match missing.option {
            "--volume" => format!("`-v ...:{name}`"),
            option => format!("`{option} {name}=...`"),
        };
        let names: Vec<String> = missing.names.iter().map(form).collect();
        let line = escaped(missing.instead);
        text.push_str(&format!("| {} | | {line} |\n", names.join(", ")));
    }
    text
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

fn escaped(line: &str) -> String {
    line.replace('|', "\\|")
}

#[test]
fn the_page_for_dockers_users_has_the_tables() {
    let page = include_str!("../../../docs/docker.md");
    for table in [commands_as_markdown(), options_as_markdown()] {
        assert!(page.contains(&table), "docs/docker.md is to have\n{table}");
    }
}
