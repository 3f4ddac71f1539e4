use std::ffi::OsStr;

use msb_sdk::{Error, ErrorKind, FileInfo, FileType, Files, Text};

use super::entry::{Entry, row};
use super::{Context, Looking, Stating};
use msb_terminal::failure::{Outcome, printable};
use msb_terminal::output::{self, Format};
use msb_terminal::table;

/// Lists the content of each directory; any other file is listed itself.
pub(super) async fn list(context: &Context, looking: &Looking) -> Outcome {
    let files = context.files(&looking.on.sandbox).await?;
    let mut found = Vec::new();
    for path in &looking.on.paths {
        let path = path.as_os_str();
        let own = files.stat_with(path, false).await?;
        let leads_to_directory =
            own.file_type == FileType::Symlink && leads_to_directory(&files, path).await?;
        if own.is_directory() || leads_to_directory {
            found.extend(files.list(path).await?);
        } else {
            found.push(named(own, path));
        }
    }
    print(&found, looking.format, context.quiet)
}

/// Returns true if a symlink leads to a directory. One that leads nowhere, or in a circle, does not.
async fn leads_to_directory(files: &Files, link: &OsStr) -> Result<bool, Error> {
    match files.stat(link).await {
        Ok(target) => Ok(target.is_directory()),
        Err(error) if leads_nowhere(error.kind()) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true for the kinds of `ENOENT`, `ENOTDIR` and `ELOOP`.
fn leads_nowhere(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PathNotFound | ErrorKind::InvalidArgument)
}

/// Prints the metadata of each file.
pub(super) async fn stat(context: &Context, stating: &Stating) -> Outcome {
    let looking = &stating.looking;
    let files = context.files(&looking.on.sandbox).await?;
    let mut found = Vec::new();
    for path in &looking.on.paths {
        let path = path.as_os_str();
        found.push(named(
            files.stat_with(path, stating.follow_link).await?,
            path,
        ));
    }
    print(&found, looking.format, context.quiet)
}

/// Returns a file's attributes with the path that the user typed as its name.
fn named(mut info: FileInfo, path: &OsStr) -> FileInfo {
    info.name = Text::from(path);
    info
}

fn print(found: &[FileInfo], format: Format, is_quiet: bool) -> Outcome {
    match format {
        Format::Json => {
            let entries: Vec<Entry> = found.iter().map(Entry::new).collect();
            output::print_json(&entries)?;
        }
        Format::Table => {
            let rows: Vec<_> = found.iter().map(row).collect();
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
