//! The licences of the libraries in the programs, with every text once.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::build::cargo;
use test_fixtures::command::quiet;

use crate::dependencies::Crate;

/// The beginnings of the names of files with licences and notices, in upper case.
const FILES: [&str; 7] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
    "PATENTS",
];

/// The size limit of such a file. The longest one has 50 KiB.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// The libraries that are no crates, and the licences of their parts in the programs.
const OTHERS: &str = "\
The programs also contain parts of:

- the Rust standard library: MIT OR Apache-2.0
- LLVM's libunwind and compiler-rt: Apache-2.0 WITH LLVM-exception
- the GNU C library, linked statically into the two programs that run in guests:
  LGPL-2.1-or-later. The complete source of both programs is that of msb, so each of
  them can be linked again with another version of the library.
";

/// Returns the list of all crates with their licences, followed by the texts.
///
/// # Errors
/// If a crate has neither a text nor a known licence.
pub(crate) fn report(crates: &[Crate]) -> Result<String> {
    let mut list = String::from("The programs of msb are built from these libraries:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for each in crates.iter().filter(|each| !each.is_own()) {
        let name = format!("{} {}", each.name, each.version);
        let licence = each.licence.as_deref().unwrap_or("see its text");
        list.push_str(&format!("- {name}: {licence}\n"));
        for text in texts_of(each)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut report = format!("{list}\n{OTHERS}");
    for text in standard_library()? {
        texts
            .entry(text)
            .or_default()
            .push("the Rust standard library".to_owned());
    }
    // Sorted by the crates, so that the report reads like the list.
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|(_, a), (_, b)| a.cmp(b));
    for (text, names) in texts {
        let rule = "=".repeat(78);
        report.push_str(&format!(
            "\n{rule}\n{}\n{rule}\n\n{text}\n",
            names.join(", ")
        ));
    }
    Ok(report)
}

/// Returns the texts in a crate's folder, or else those of the licences that it names.
fn texts_of(each: &Crate) -> Result<Vec<String>> {
    let texts = texts_in(&each.folder)?;
    if !texts.is_empty() {
        return Ok(texts);
    }
    let named = each.licence.as_deref().map(standard_texts).transpose()?;
    let texts = named.unwrap_or_default();
    ensure!(
        !texts.is_empty(),
        "{} has neither a licence file nor a known licence",
        each.folder.display()
    );
    Ok(texts)
}

fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_text = FILES.iter().any(|begin| name.starts_with(begin));
        if is_text && entry.metadata()?.is_file() && entry.metadata()?.len() <= FILE_MAX_BYTES {
            paths.push(entry.path());
        }
    }
    paths.sort();
    paths.iter().map(|path| text(path)).collect()
}

/// Returns a text without trailing white space, by which copies of one licence differ.
fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?;
    Ok(plain(&String::from_utf8_lossy(&bytes)))
}

fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Returns the texts of all licences of an SPDX expression.
fn standard_texts(expression: &str) -> Result<Vec<String>> {
    let parsed = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX)
        .with_context(|| format!("cannot parse the licence '{expression}'"))?;
    let ids = parsed
        .requirements()
        .filter_map(|each| each.req.license.id());
    Ok(ids.map(|id| plain(id.text())).collect())
}

/// Returns the texts that come with the Rust toolchain.
fn standard_library() -> Result<Vec<String>> {
    let output = quiet(Command::new(rustc()).args(["--print", "sysroot"]))?;
    let sysroot = String::from_utf8(output.stdout)?;
    let documents = Path::new(sysroot.trim()).join("share/doc/rust");
    let names = ["LICENSE-APACHE", "LICENSE-MIT", "COPYRIGHT"];
    let found = names.iter().map(|name| documents.join(name));
    let found: Vec<_> = found.filter(|path| path.is_file()).collect();
    if found.is_empty() {
        // A toolchain may come without documents.
        return standard_texts("MIT OR Apache-2.0");
    }
    found.iter().map(|path| text(path)).collect()
}

/// Returns the compiler of the cargo in use.
fn rustc() -> std::ffi::OsString {
    let cargo = cargo();
    let beside = Path::new(cargo.get_program()).with_file_name("rustc");
    if beside.is_file() {
        beside.into_os_string()
    } else {
        "rustc".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_in(folder: &Path, licence: Option<&str>) -> Crate {
        Crate {
            name: "some".to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.map(str::to_owned),
            folder: folder.to_owned(),
            sha256: Some("ab".to_owned()),
            uses: Vec::new(),
        }
    }

    #[test]
    fn a_crate_without_a_text_has_that_of_its_licence() {
        let folder = tempfile::tempdir().expect("a directory");
        let known = crate_in(folder.path(), Some("MIT OR Apache-2.0"));
        let report_of = |each: Crate| report(&[each]);
        let report = report_of(known).expect("a report");
        assert!(
            report.contains("- some 1.0.0: MIT OR Apache-2.0\n"),
            "{report}"
        );
        assert!(report.contains("Permission is hereby granted"), "{report}");
        assert!(report.contains("Apache License"), "{report}");
        assert!(report_of(crate_in(folder.path(), None)).is_err());
        fs::write(folder.path().join("License.md"), "do what you want  \n").expect("written");
        let own = report_of(crate_in(folder.path(), None)).expect("a report");
        assert!(own.contains("\n\ndo what you want\n"), "{own}");
    }
}
