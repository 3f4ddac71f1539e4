use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_fixtures::{build, paths, tools};
use test_support::harness::{self, Trial};
use test_support::{TestEnv, settings};

use crate::browser;

/// A page with overlapping text, which the browser's check must refuse.
const BAD_PAGE: &str = "<!doctype html><svg viewBox=\"0 0 860 100\" width=\"860\">\
    <text x=\"10\" y=\"20\">one word</text><text x=\"12\" y=\"21\">another</text></svg>";
/// A report with every kind of plot, as it was reviewed.
const SAMPLE_PAGE: &str =
    "bench/src/report/snapshots/msb_bench__report__tests__a_report_as_a_page.snap";

/// Returns the test of a report's page.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "pages::a_reports_page_is_readable_in_a_browser";
    vec![harness::test(name, pages)]
}

/// Checks the page of the sample, and one of a benchmark that runs here.
fn pages() -> Result<String> {
    tools::install_for_tests()?;
    ensure!(
        browser::judge(BAD_PAGE).is_err(),
        "a bad page passes for a good one"
    );
    let sample = fs::read_to_string(paths::root().join(SAMPLE_PAGE))?;
    let page = sample.splitn(3, "---\n").nth(2);
    let of_sample = browser::judge(page.context("the sample's page has no head")?)?;
    let env = TestEnv::new("pages")?;
    if paths::in_variable(settings::MSB)?.is_none() {
        build::bench()?;
    }
    let written = env.work.join("growth.html");
    let growth = ["bench", "growth", "--no-sandboxes", "--rounds", "1"];
    let mut bench: Command = env.msb_at("home")?.command(&growth);
    bench
        .args(["--most-files", "1000", "--format", "json"])
        .arg("--work")
        .arg(&env.work)
        .arg("--html")
        .arg(&written);
    quiet(&mut bench)?;
    let of_growth = browser::judge(&fs::read_to_string(&written)?)?;
    env.remove_work()?;
    Ok(format!("{} plots", of_sample + of_growth))
}
