//! Figures about the code itself, as a Markdown table for STYLE.md.

mod circles;
mod comments;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use test_fixtures::paths;

/// The crates that others may use as libraries.
const FORMAT_CRATES: [&str; 4] = ["erofs-writer", "ext4-writer", "fstree", "vmdk"];

/// Prints the figures.
pub(crate) fn run() -> Result<()> {
    let root = paths::root();
    let mut files = Vec::new();
    for directory in ["crates", "tests", "bench", "xtask"] {
        collect(&root.join(directory), &mut files)?;
    }
    let texts = files.iter().map(fs::read_to_string);
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let all = comments::count(texts.iter().map(String::as_str));
    let mut lengths: Vec<usize> = texts.iter().map(|text| text.lines().count()).collect();
    lengths.sort_unstable();
    let at = |percent: usize| lengths.get(lengths.len() * percent / 100).copied();
    println!("| Figure | Value |\n|---|---:|");
    println!("| Rust files | {} |", files.len());
    let longest = lengths.last().copied().unwrap_or_default();
    println!(
        "| File length in lines: median, 90th percentile, longest | {}, {}, {longest} |",
        at(50).unwrap_or_default(),
        at(90).unwrap_or_default()
    );
    println!("| Doc comments | {} |", all.comments);
    println!(
        "| Doc comments that begin with What, How, Where, Whether, Why, Which or Who | {} |",
        all.questions
    );
    println!("| Doc comments of at most three words | {} |", all.short);
    println!(
        "| Items with `# Examples` in format crates | {} |",
        examples(&root)?
    );
    println!("| Lines of xtask | {} |", lines_below(&root.join("xtask"))?);
    let circles = circles::find(&root)?;
    println!(
        "| Circles of imports between files of a crate | {} |",
        circles.len()
    );
    for circle in circles {
        println!("\n- {}", circle.join(", "));
    }
    Ok(())
}

/// Collects the Rust files below a directory, without build output.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn lines_below(directory: &Path) -> Result<usize> {
    let mut files = Vec::new();
    collect(directory, &mut files)?;
    let mut lines = 0;
    for file in files {
        lines += fs::read_to_string(file)?.lines().count();
    }
    Ok(lines)
}

fn examples(root: &Path) -> Result<usize> {
    let mut files = Vec::new();
    for name in FORMAT_CRATES {
        collect(&root.join("crates").join(name).join("src"), &mut files)?;
    }
    let mut examples = 0;
    for file in files {
        let text = fs::read_to_string(file)?;
        examples += text.matches("/// # Examples").count();
    }
    Ok(examples)
}
