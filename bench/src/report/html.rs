//! A report as one page that loads nothing else.

use std::fmt::Write as _;

use super::escape::escaped;
use super::plot;
use super::table::Table;
use super::{Report, terminal};

const STYLE: &str = "
body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.6em}h2{font-size:1.2em;margin-top:2.2em}
code{background:#f2f2f2;padding:.15em .4em;border-radius:3px}
.conditions{color:#555}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}
th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
svg{width:100%;height:auto;margin:.6em 0}
svg text{font:12px system-ui,sans-serif;fill:#222}
.missed{color:#b00020;font-weight:600}
";

/// Returns the whole page.
pub(crate) fn page(report: &Report) -> String {
    let title = escaped(&format!("msb bench {}", report.benchmark));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p><code>{}</code></p>\n<p class=\"conditions\">{}; {}</p>\n",
        escaped(&report.command),
        report.day(),
        escaped(&report.machine.words().join("; "))
    );
    page.push_str(&targets(report));
    for table in &report.tables {
        page.push_str(&section(table));
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn targets(report: &Report) -> String {
    if report.targets.is_empty() {
        return String::new();
    }
    let mut list = String::from("<h2>Targets</h2>\n<ul>\n");
    for target in &report.targets {
        let class = if target.met { "met" } else { "missed" };
        let _ = writeln!(
            list,
            "<li class=\"{class}\">{}: {}</li>",
            target.verdict(),
            escaped(&target.words)
        );
    }
    list.push_str("</ul>\n");
    list
}

fn section(table: &Table) -> String {
    let mut section = format!(
        "<h2>{}</h2>\n<p class=\"conditions\">{}</p>\n",
        escaped(&table.title),
        escaped(&table.conditions.words().join("; "))
    );
    section.extend(plot::svg(table));
    section.push_str("\n<div class=\"wide\"><table>\n");
    for (number, line) in terminal::grid(table).iter().enumerate() {
        let tag = if number == 0 { "th" } else { "td" };
        let cells: String = line
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect();
        let _ = writeln!(section, "<tr>{cells}</tr>");
    }
    section.push_str("</table></div>\n");
    section
}
