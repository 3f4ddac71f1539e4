use std::fmt;

use msb_sdk::{Change, ChangeKind, PatchLines};

/// Columns of the longest graph.
const GRAPH_COLUMNS: u64 = 40;

/// The numbers of changed lines, as `git diff --stat` shows them.
#[derive(Debug, Default)]
pub(super) struct Stat {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    path: String,
    lines: PatchLines,
    /// The changed properties of a file whose content is unchanged.
    properties: String,
}

impl Stat {
    /// Adds a change. Directories that are added or deleted are left out; their files are not.
    pub(super) fn add(&mut self, change: &Change, lines: PatchLines) {
        let is_directory = |file: &msb_sdk::ChangedFile| file.info.is_directory();
        let properties = match change.kind {
            ChangeKind::Changed => change.changed.join(", "),
            ChangeKind::Added if change.new.as_ref().is_some_and(is_directory) => return,
            ChangeKind::Deleted if change.old.as_ref().is_some_and(is_directory) => return,
            ChangeKind::Added => "added".to_owned(),
            ChangeKind::Deleted => "deleted".to_owned(),
        };
        self.rows.push(Row {
            path: change.quoted_path(),
            lines,
            properties,
        });
    }

    /// Returns the numbers of inserted and of deleted lines.
    fn total(&self) -> (u64, u64) {
        let lines = self.rows.iter().map(|row| counts(row.lines));
        lines.fold((0, 0), |sum, (inserted, deleted)| {
            (sum.0 + inserted, sum.1 + deleted)
        })
    }
}

fn counts(lines: PatchLines) -> (u64, u64) {
    match lines {
        PatchLines::Text { inserted, deleted } => (inserted, deleted),
        _ => (0, 0),
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return Ok(());
        }
        let width = |row: &Row| row.path.chars().count();
        let path_columns = self.rows.iter().map(width).max().unwrap_or_default();
        let sum = |row: &Row| {
            let (inserted, deleted) = counts(row.lines);
            inserted + deleted
        };
        let most = self.rows.iter().map(sum).max().unwrap_or_default();
        let number_columns = most.to_string().len().max(3);
        for row in &self.rows {
            write!(f, " {:<path_columns$} | ", row.path)?;
            match row.lines {
                PatchLines::Text { inserted, deleted } => {
                    let graph = |count: u64, sign: &str| sign.repeat(columns(count, most));
                    let graph = format!("{}{}", graph(inserted, "+"), graph(deleted, "-"));
                    let line = format!("{:>number_columns$} {graph}", inserted + deleted);
                    writeln!(f, "{}", line.trim_end())?;
                }
                PatchLines::Binary {
                    old_bytes,
                    new_bytes,
                } => writeln!(
                    f,
                    "{:>number_columns$} {old_bytes} -> {new_bytes} bytes",
                    "Bin"
                )?,
                _ => writeln!(f, "{}", row.properties)?,
            }
        }
        let (inserted, deleted) = self.total();
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let files = self.rows.len() as u64;
        write!(f, " {files} file{} changed", plural(files))?;
        if inserted > 0 {
            write!(f, ", {inserted} insertion{}(+)", plural(inserted))?;
        }
        if deleted > 0 {
            write!(f, ", {deleted} deletion{}(-)", plural(deleted))?;
        }
        writeln!(f)
    }
}

/// Returns the length of a graph: at least 1 for a number that is not 0.
fn columns(count: u64, most: u64) -> usize {
    let scaled = if most <= GRAPH_COLUMNS {
        count
    } else {
        (count * GRAPH_COLUMNS).div_ceil(most)
    };
    usize::try_from(scaled).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_drawn() {
        let row = |path: &str, lines| Row {
            path: path.to_owned(),
            lines,
            properties: "mode".to_owned(),
        };
        let text = |inserted, deleted| PatchLines::Text { inserted, deleted };
        let binary = PatchLines::Binary {
            old_bytes: 0,
            new_bytes: 12,
        };
        let stat = Stat {
            rows: vec![
                row("/a", text(2, 1)),
                row("/long", text(400, 1)),
                row("/b", binary),
                row("/c", PatchLines::Unchanged),
                row("/d", text(0, 0)),
            ],
        };
        let expected = format!(
            " /a    |   3 +-\n /long | 401 {}-\n /b    | Bin 0 -> 12 bytes\n /c    | mode\n /d    \
             |   0\n 5 files changed, 402 insertions(+), 2 deletions(-)\n",
            "+".repeat(40)
        );
        assert_eq!(stat.to_string(), expected);
        assert_eq!(Stat::default().to_string(), "");
    }
}
