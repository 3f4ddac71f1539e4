use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Report, html, markdown, terminal};

/// The options for a report's output, which every benchmark accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Showing {
    /// Output format
    #[arg(long, value_enum, default_value = "table", help_heading = "Report")]
    format: Format,
    /// Also write the report as one self-contained page of HTML with plots
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    html: Option<PathBuf>,
    /// Also write the report to a Markdown file, in place of an older one of the same benchmark
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    results: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Table,
    Json,
}

impl Showing {
    /// The names of these options, each of which has a value.
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
            // A file that does not exist yet has no sections.
            let before = fs::read_to_string(path).unwrap_or_default();
            fs::write(path, markdown::with_section(&before, report))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
