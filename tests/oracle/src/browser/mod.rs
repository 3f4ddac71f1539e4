//! A page of HTML in a real browser: it opens without an error, and its plots are readable.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use test_fixtures::command::quiet;
use test_fixtures::paths;

/// The script that examines a page in the browser.
const QUESTION: &str = include_str!("readable.js");
/// Widths of a window, in pixels: a large screen and a small one.
const WIDTHS: [u32; 2] = [1280, 700];
/// The prefix of the browser's lines with messages of a page's console.
const CONSOLE: &str = ":CONSOLE";

/// The script's findings.
#[derive(Debug, Deserialize)]
struct Verdict {
    plots: usize,
    faults: Vec<String>,
}

/// Opens the page in windows of several widths; returns the number of its plots.
pub(crate) fn judge(page: &str) -> Result<usize> {
    let work = paths::scratch("browser")?;
    let asked = work.join("page.html");
    fs::write(&asked, format!("{page}<script>{QUESTION}</script>"))?;
    let mut plots = 0;
    for width in WIDTHS {
        let verdict = open(&asked, &work.join(format!("profile-{width}")), width)?;
        ensure!(
            verdict.faults.is_empty(),
            "at {width} px:\n{}",
            verdict.faults.join("\n")
        );
        plots = verdict.plots;
    }
    ensure!(plots > 0, "the page has no plot");
    Ok(plots)
}

fn open(page: &Path, profile: &Path, width: u32) -> Result<Verdict> {
    let mut browser = Command::new("chromium");
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        // The browser must not connect to anything.
        .args(["--disable-quic", "--no-first-run", "--disable-sync"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={width},1000"))
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("file://{}", page.display()));
    let output = quiet(&mut browser)?;
    let log = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = log.lines().filter(|line| line.contains(CONSOLE)).collect();
    ensure!(
        said.is_empty(),
        "the page's console says:\n{}",
        said.join("\n")
    );
    verdict(&String::from_utf8_lossy(&output.stdout))
}

/// Parses the findings that the script left in the page.
fn verdict(document: &str) -> Result<Verdict> {
    let (_, after) = document
        .split_once(r#"<script type="application/json" id="verdict">"#)
        .context("the browser did not answer")?;
    let json = after.split("</script>").next().unwrap_or_default();
    Ok(serde_json::from_str(json)?)
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn an_answer_is_found_in_the_page() {
        let answered = r#"<p></p><script type="application/json" id="verdict">{"plots":2,"faults":["a < b"]}</script></body>"#;
        let found = verdict(answered).expect("an answer");
        assert_eq!((found.plots, found.faults), (2, vec!["a < b".to_owned()]));
        assert!(verdict("<p></p>").is_err());
    }
}
