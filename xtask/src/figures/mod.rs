//! Figures about the code itself. STYLE.md has a limit for each, and the lint compares.

mod circles;
mod comments;

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use test_fixtures::paths;

use crate::sizes::{lines_below, sources};

/// The crates that others may use as libraries.
const FORMAT_CRATES: [&str; 4] = ["erofs-writer", "ext4-writer", "fstree", "vmdk"];
/// The head of the table in STYLE.md.
const HEAD: &str = "| Figure | At most |\n|---|---:|\n";

/// A figure: its name in STYLE.md, and its value now.
type Figure = (&'static str, usize);

/// Prints the figures as STYLE.md's table, and the circles.
pub(crate) fn run() -> Result<()> {
    let circles = circles::find(&paths::root())?;
    print!("{HEAD}");
    for (name, value) in figures(circles.len())? {
        println!("| {name} | {value} |");
    }
    for circle in circles {
        println!("\n- {}", circle.join(", "));
    }
    Ok(())
}

/// Checks that no figure is over its limit in STYLE.md.
pub(crate) fn check() -> Result<()> {
    let root = paths::root();
    let style = fs::read_to_string(root.join("STYLE.md"))?;
    let figures = figures(circles::find(&root)?.len())?;
    let faults = faults(&style, &figures)?;
    if !faults.is_empty() {
        bail!(
            "figures are over their limits in STYLE.md; `cargo xtask figures` names the circles:\n  {}",
            faults.join("\n  ")
        );
    }
    Ok(())
}

/// Returns a line for each figure that is over its limit.
fn faults(style: &str, figures: &[Figure]) -> Result<Vec<String>> {
    let (_, table) = style.split_once(HEAD).context("STYLE.md has no figures")?;
    let rows: Vec<_> = table.lines().take_while(|line| !line.is_empty()).collect();
    ensure!(
        rows.len() == figures.len(),
        "STYLE.md has {} figures, and there are {}",
        rows.len(),
        figures.len()
    );
    let mut faults = Vec::new();
    for (row, (name, value)) in rows.iter().zip(figures) {
        let limit = row.strip_prefix(&format!("| {name} | "));
        let limit = limit.and_then(|limit| limit.strip_suffix(" |"));
        let limit = limit.with_context(|| format!("STYLE.md has '{row}' in place of '{name}'"))?;
        let limit: usize = limit.parse().with_context(|| (*row).to_owned())?;
        if *value > limit {
            faults.push(format!("{name}: {value}, and {limit} at most"));
        }
    }
    Ok(faults)
}

fn figures(circles: usize) -> Result<Vec<Figure>> {
    let root = paths::root();
    let mut texts = Vec::new();
    for directory in ["crates", "tests", "bench", "xtask"] {
        for file in sources(&root.join(directory))? {
            texts.push(fs::read_to_string(file)?);
        }
    }
    let all = comments::count(texts.iter().map(String::as_str));
    let mut lengths: Vec<usize> = texts.iter().map(|text| text.lines().count()).collect();
    lengths.sort_unstable();
    let at = |percent: usize| lengths.get(lengths.len() * percent / 100).copied();
    let longest = lengths.last().copied();
    let short_per_thousand = (1000 * all.short).div_ceil(all.comments.max(1));
    Ok(vec![
        ("Lines of a file, median", at(50).unwrap_or_default()),
        (
            "Lines of a file, 90th percentile",
            at(90).unwrap_or_default(),
        ),
        ("Lines of a file, longest", longest.unwrap_or_default()),
        (
            "Doc comments that begin with What, How, Where, Whether, Why, Which or Who",
            all.questions,
        ),
        (
            "Doc comments of at most three words, of 1,000",
            short_per_thousand,
        ),
        (
            "Format crates without an example in their documentation",
            without_examples()?,
        ),
        ("Lines of `xtask`", lines_below(&root.join("xtask"))?),
        ("Circles of imports between files of a crate", circles),
    ])
}

fn without_examples() -> Result<usize> {
    let mut without = 0;
    for name in FORMAT_CRATES {
        let mut has_one = false;
        for file in sources(&paths::root().join("crates").join(name).join("src"))? {
            let text = fs::read_to_string(file)?;
            has_one |= text.contains("/// # Examples") || text.contains("//! ```");
        }
        without += usize::from(!has_one);
    }
    Ok(without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_over_its_limit_is_named() {
        let style = format!("text\n\n{HEAD}| Circles | 3 |\n| Lines | 10 |\n\nmore\n");
        let faults = |figures: &[Figure]| faults(&style, figures);
        assert!(
            faults(&[("Circles", 3), ("Lines", 9)])
                .expect("read")
                .is_empty()
        );
        assert_eq!(
            faults(&[("Circles", 4), ("Lines", 10)]).expect("read"),
            ["Circles: 4, and 3 at most"]
        );
        for wrong in [&[("Circles", 3)][..], &[("Circles", 3), ("Words", 1)]] {
            assert!(faults(wrong).is_err());
        }
    }
}
