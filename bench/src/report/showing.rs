use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Report, html, markdown, terminal};

/// How a report is shown: options that every benchmark takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Showing {
    /// What is printed
    #[arg(long, value_enum, default_value = "table", help_heading = "Report")]
    format: Format,
    /// Also write a page of HTML with plots, which needs nothing else
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    html: Option<PathBuf>,
    /// Also put the report into a Markdown file, in the place of an older one of the same benchmark
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    results: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Table,
    Json,
}

impl Showing {
    /// How its options are typed; each has a value.
    pub(crate) const OPTIONS: [&str; 3] = ["--format", "--html", "--results"];

    #[expect(clippy::print_stdout, reason = "the report is this command's output")]
    pub(crate) fn show(&self, report: &Report) -> Result<()> {
        match self.format {
            Format::Table => print!("{}", terminal::text(report)),
            Format::Json => println!("{}", serde_json::to_string_pretty(report)?),
        }
        if let Some(path) = &self.html {
            fs::write(path, html::page(report))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(path) = &self.results {
            // A file that is not there yet has no sections.
            let before = fs::read_to_string(path).unwrap_or_default();
            fs::write(path, markdown::with_section(&before, report))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
