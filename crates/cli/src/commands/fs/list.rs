use std::os::unix::ffi::OsStrExt as _;

use msb_agent_protocol::v1::{FileStat, FileType};

use super::entry::{Entry, row};
use super::{Context, Looking, Stating};
use crate::failure::{Outcome, printable};
use crate::output::{self, Format};
use crate::table;

/// Lists the content of each directory; any other file is listed itself.
pub(super) async fn list(context: &Context, looking: &Looking) -> Outcome {
    let files = context.files(&looking.on.sandbox).await?;
    let mut found = Vec::new();
    for path in &looking.on.paths {
        let path = path.as_bytes();
        let stat = files.stat(path, true).await;
        match stat {
            Ok(stat) if stat.r#type() == FileType::Directory => {
                let entries = files.list(path).await?;
                found.extend(
                    entries
                        .into_iter()
                        .map(|entry| (entry.name.to_vec(), entry.stat.unwrap_or_default())),
                );
            }
            // A dangling symlink is listed itself.
            _ => found.push((path.to_vec(), files.stat(path, false).await?)),
        }
    }
    print(&found, looking.format, context.quiet)
}

/// Prints the metadata of each file.
pub(super) async fn stat(context: &Context, stating: &Stating) -> Outcome {
    let looking = &stating.looking;
    let files = context.files(&looking.on.sandbox).await?;
    let mut found = Vec::new();
    for path in &looking.on.paths {
        let path = path.as_bytes();
        let stat = files.stat(path, stating.follow_link).await?;
        found.push((path.to_vec(), stat));
    }
    print(&found, looking.format, context.quiet)
}

fn print(found: &[(Vec<u8>, FileStat)], format: Format, is_quiet: bool) -> Outcome {
    match format {
        Format::Json => {
            let entries: Vec<Entry> = found
                .iter()
                .map(|(name, stat)| Entry::new(name, stat))
                .collect();
            output::print_json(&entries)?;
        }
        Format::Table => {
            let rows: Vec<_> = found.iter().map(|(name, stat)| row(name, stat)).collect();
            if is_quiet {
                let names = rows
                    .iter()
                    .map(|[.., name]| format!("{}\n", printable(name)));
                output::print(&names.collect::<String>())?;
                return Ok(0);
            }
            table::print(["MODE", "OWNER", "SIZE", "MODIFIED", "NAME"], &rows)?;
        }
    }
    Ok(0)
}
