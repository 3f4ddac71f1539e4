//! A report as a section of a Markdown file that has a section for each benchmark.

use std::fmt::Write as _;

use super::table::Table;
use super::{Report, terminal};

const HEAD: &str = "# Results\n\nThe newest run of each benchmark, written by the command under its \
    heading. Ratios travel between machines, times do not.\n";

/// Returns the file with this report's section in place of an older one, or at its end.
pub(crate) fn with_section(file: &str, report: &Report) -> String {
    let heading = format!("\n## bench {}\n", report.benchmark);
    let section = format!("{heading}{}", body(report));
    let file = if file.is_empty() { HEAD } else { file };
    let Some(begin) = file.find(&heading) else {
        return format!("{file}{section}");
    };
    let after = begin + heading.len();
    let end = file[after..]
        .find("\n## ")
        .map_or(file.len(), |next| after + next);
    format!("{}{section}{}", &file[..begin], &file[end..])
}

fn body(report: &Report) -> String {
    let mut text = format!(
        "\n    {}\n\n{}; {}.\n",
        report.command,
        report.day(),
        report.machine.words().join("; ")
    );
    for table in &report.tables {
        text.push_str(&table_text(table));
    }
    if !report.targets.is_empty() {
        text.push_str("\nTargets:\n");
    }
    for target in &report.targets {
        let _ = writeln!(text, "- {}: {}", target.verdict(), target.words);
    }
    text
}

fn table_text(table: &Table) -> String {
    let mut text = format!(
        "\n### {}\n\n{}.\n\n",
        table.title,
        table.conditions.words().join("; ")
    );
    for (number, line) in terminal::grid(table).iter().enumerate() {
        let cells: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if number == 0 {
            let rule = "---:|".repeat(line.len().saturating_sub(1));
            let _ = writeln!(text, "|---|{rule}");
        }
    }
    text
}
