use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::sizes::sources;

/// A module, as the names from the crate's root to it.
type Module = Vec<String>;

/// Finds the circles of imports between the files of each crate, each as its files. Imports between
/// a module and the modules inside of it are left out: a parent re-exports its children.
pub(super) fn find(root: &Path) -> Result<Vec<Vec<String>>> {
    let mut circles = Vec::new();
    let mut folders = vec![root.join("bench/src"), root.join("xtask/src")];
    for package in fs::read_dir(root.join("crates"))? {
        folders.push(package?.path().join("src"));
    }
    folders.sort();
    for source in &folders {
        let files = sources(source)?;
        let mut modules = BTreeMap::new();
        for file in &files {
            let relative = file.strip_prefix(source)?;
            let text = fs::read_to_string(file)?;
            // Tests may use what they like.
            let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let name = file.strip_prefix(root)?.display().to_string();
            modules.insert(module(relative), (name, text.to_owned()));
        }
        circles.extend(of_crate(&modules));
    }
    Ok(circles)
}

fn module(relative: &Path) -> Module {
    let path = relative.with_extension("");
    let mut names: Module = path
        .iter()
        .map(|name| name.to_string_lossy().into())
        .collect();
    if names
        .last()
        .is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str()))
    {
        names.pop();
    }
    names
}

fn of_crate(modules: &BTreeMap<Module, (String, String)>) -> Vec<Vec<String>> {
    let edges: BTreeMap<&Module, BTreeSet<&Module>> = modules
        .iter()
        .map(|(module, (_, text))| (module, imports(module, text, modules)))
        .collect();
    let reach = |from: &Module| {
        let mut seen: BTreeSet<&Module> = BTreeSet::new();
        let mut open: Vec<&Module> = edges[from].iter().copied().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(edges[next].iter().copied());
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = modules
        .keys()
        .map(|module| (module, reach(module)))
        .collect();
    let mut circles = BTreeSet::new();
    for (module, others) in &reached {
        let circle: BTreeSet<&Module> = others
            .iter()
            .copied()
            .filter(|other| reached[other].contains(module))
            .collect();
        if circle.len() > 1 {
            let names = circle.iter().map(|module| modules[*module].0.clone());
            circles.insert(names.collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}

/// Returns the modules that a file imports from, without its ancestors and descendants.
fn imports<'a>(
    module: &Module,
    text: &str,
    modules: &'a BTreeMap<Module, (String, String)>,
) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let statements = text.split("use ").skip(1);
    for statement in statements.filter_map(|rest| rest.split(';').next()) {
        for path in expand(statement) {
            let Some(absolute) = absolute(module, &path) else {
                continue;
            };
            let lengths = (1..=absolute.len()).rev();
            let target = lengths
                .filter_map(|length| modules.get_key_value(&absolute[..length]))
                .map(|(target, _)| target)
                .next();
            let is_related =
                |target: &Module| target.starts_with(module) || module.starts_with(target);
            found.extend(target.filter(|target| !is_related(target)));
        }
    }
    found
}

/// Returns the paths of a `use` statement, whose groups may be nested.
fn expand(statement: &str) -> Vec<String> {
    let statement: String = statement.split_whitespace().collect();
    let Some(open) = statement.find('{') else {
        return vec![statement];
    };
    let (prefix, group) = statement.split_at(open);
    let inner = group.trim_start_matches('{');
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut start, mut paths) = (0_usize, 0, Vec::new());
    for (index, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let part = &inner[start..index];
                paths.extend(expand(part).iter().map(|path| format!("{prefix}{path}")));
                start = index + 1;
            }
            _ => {}
        }
    }
    paths
}

/// Returns an imported path from the crate's root; `None` if it leads to another crate.
fn absolute(module: &Module, path: &str) -> Option<Module> {
    let names: Vec<&str> = path.split("::").collect();
    let supers = names.iter().take_while(|name| **name == "super").count();
    let base = match *names.first()? {
        "crate" => &[][..],
        "super" => module.get(..module.len().checked_sub(supers)?)?,
        _ => return None,
    };
    let rest = names
        .iter()
        .skip(supers.max(1))
        .map(|&name| name.to_owned());
    Some(base.iter().cloned().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> BTreeMap<Module, (String, String)> {
        let files = files.iter().map(|&(path, text)| {
            let module = module(Path::new(path));
            (module, (path.to_owned(), text.to_owned()))
        });
        files.collect()
    }

    #[test]
    fn files_that_import_from_each_other_are_a_circle() {
        let modules = modules(&[
            ("lib.rs", "mod a; pub use a::A; use crate::b::c::C;"),
            ("a.rs", "use crate::{b::{c::C, D}, e};\nuse std::fs;"),
            ("b/mod.rs", "use super::e::E;"),
            ("b/c.rs", "use super::D;\nuse super::super::e::E;"),
            ("e.rs", "use crate::a::A;"),
        ]);
        assert_eq!(of_crate(&modules), [["a.rs", "b/mod.rs", "b/c.rs", "e.rs"]]);
    }

    #[test]
    fn a_parent_and_its_children_are_none() {
        let modules = modules(&[
            ("lib.rs", "use a::A;"),
            ("a/mod.rs", "use self::b::B;\nuse crate::a::b::B;"),
            ("a/b.rs", "use super::A;\nuse crate::A;"),
        ]);
        assert!(of_crate(&modules).is_empty());
    }
}
