use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use anyhow::anyhow;
use msb_sdk::{CopyOptions, Files};

use super::Context;
use msb_terminal::failure::Outcome;
use msb_terminal::output::{self, Stream};
use msb_terminal::terminal;

// Arguments of `msb cp`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "msb cp [OPTIONS] SANDBOX:SRC DST|-\n       msb cp [OPTIONS] SRC|- SANDBOX:DST",
    after_help = "As in docker cp, if DST is a directory, SRC is copied into it; otherwise the copy gets the \
    name DST, whose parent must exist. SRC/. stands for the content of SRC, and - for a tar archive on \
    standard input or output. A path of this host that contains ':' must begin with '/' or '.'.\n\n\
    Files of a stopped sandbox, and of a snapshot, SANDBOX@SNAPSHOT, are read from the disks, without starting \
    it.\n\n\
    Examples:\n  \
    msb cp work:/srv/out ./results\n  \
    msb cp work@clean:/etc/motd .\n  \
    msb cp ./site/. work:/var/www\n  \
    msb cp work:/etc - | tar t\n  \
    msb cp -x work:/ - > work.tar\n\n\
    docs/files.md lists the attributes of files that are kept."
)]
pub(crate) struct Arguments {
    /// Keep the numbers of owner and group, setuid bits and capabilities
    #[arg(short, long)]
    archive: bool,
    /// Copy the target of SRC if SRC is a symlink
    #[arg(short = 'L', long)]
    follow_link: bool,
    /// Leave out mounts in SRC: volumes, directories of the host
    #[arg(short = 'x', long)]
    one_file_system: bool,
    /// Source: a path of this host, SANDBOX:PATH, or - for a tar archive
    #[arg(value_name = "SRC")]
    source: OsString,
    /// Destination: a path of this host, SANDBOX:PATH, or - for a tar archive
    #[arg(value_name = "DST")]
    destination: OsString,
}

/// The source or the destination of a copy.
#[derive(Debug, PartialEq, Eq)]
enum Side<'a> {
    Host(&'a OsStr),
    Sandbox(&'a str, &'a [u8]),
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut options = CopyOptions::default();
    options.keep_owner = arguments.archive;
    options.follow_link = arguments.follow_link;
    options.one_file_system = arguments.one_file_system;
    let source = Side::parse(&arguments.source)?;
    let destination = Side::parse(&arguments.destination)?;
    let copied = match (source, destination) {
        (Side::Sandbox(name, source), Side::Host(destination)) => {
            let files = context.files(name).await?;
            if destination == "-" {
                return print_tar(&files, source, options).await;
            }
            files.download_with(source, destination, options).await?
        }
        (Side::Host(source), Side::Sandbox(name, destination)) => {
            let files = context.files(name).await?;
            if source == "-" {
                files
                    .put_tar_with(io::stdin(), destination, options)
                    .await?
            } else {
                files.upload_with(source, destination, options).await?
            }
        }
        (Side::Sandbox(..), Side::Sandbox(..)) => {
            return Err(anyhow!(
                "cannot copy from one sandbox to another; pipe an archive: msb cp A:PATH - | msb cp \
                 - B:PATH"
            )
            .into());
        }
        (Side::Host(_), Side::Host(_)) => {
            return Err(
                anyhow!("neither path is in a sandbox; write one of them as SANDBOX:PATH").into(),
            );
        }
    };
    if copied.devices_left_out > 0 {
        let count = copied.devices_left_out;
        output::notice(&format!("{count} device nodes were not copied"));
    }
    Ok(0)
}

async fn print_tar(files: &Files, source: &[u8], options: CopyOptions) -> Outcome {
    terminal::refuse_archive("name a directory, or redirect the output")?;
    let archive = files.get_tar_with(source, options).await?;
    let mut stdout = io::stdout().lock();
    let unwritable = |error: io::Error| match error.kind() {
        // A reader that closed the pipe wants no more.
        io::ErrorKind::BrokenPipe => Ok(0),
        _ => Err(Stream::Stdout.unwritable(error).into()),
    };
    while let Some(chunk) = archive.next().await? {
        if let Err(error) = stdout.write_all(&chunk) {
            return unwritable(error);
        }
    }
    stdout.flush().map(|()| 0).or_else(unwritable)
}

impl<'a> Side<'a> {
    /// Parses an argument as Docker does: if it begins with `/` or `.`, or has no `:`, it is a path
    /// of the host.
    fn parse(argument: &'a OsStr) -> Result<Self, anyhow::Error> {
        let bytes = argument.as_bytes();
        let colon = bytes.iter().position(|&byte| byte == b':');
        let colon = colon.filter(|_| !bytes.starts_with(b"/") && !bytes.starts_with(b"."));
        let Some(colon) = colon else {
            return Ok(Self::Host(argument));
        };
        let name = std::str::from_utf8(&bytes[..colon]).map_err(|_| {
            anyhow!("the name before ':' in {argument:?} cannot be the name of a sandbox")
        })?;
        Ok(Self::Sandbox(name, &bytes[colon + 1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_told_apart_as_docker_does() {
        let parse = |text: &'static str| Side::parse(OsStr::new(text)).expect("UTF-8");
        assert_eq!(parse("a:/b"), Side::Sandbox("a", b"/b"));
        assert_eq!(parse("a:b:c"), Side::Sandbox("a", b"b:c"));
        assert_eq!(parse("./a:b"), Side::Host(OsStr::new("./a:b")));
        assert_eq!(parse("/a:b"), Side::Host(OsStr::new("/a:b")));
        assert_eq!(parse("-"), Side::Host(OsStr::new("-")));
    }
}
