//! Makes one disk of several files: `create DESCRIPTOR FILE...`. The files must lie in the
//! descriptor's directory, which names them.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use vmdk::{Descriptor, FlatExtent, SECTOR_BYTES};

/// Writes the descriptor.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let Some((descriptor, files @ [_, ..])) = arguments.split_first() else {
        return Err("usage: create DESCRIPTOR FILE...".into());
    };
    let mut extents = Vec::new();
    for file in files {
        let path = Path::new(file);
        let name = path.file_name().and_then(|name| name.to_str());
        let size_bytes = fs::metadata(path)?.len();
        if size_bytes % SECTOR_BYTES != 0 {
            return Err(format!("{} is not whole sectors long", path.display()).into());
        }
        extents.push(FlatExtent {
            sectors: size_bytes / SECTOR_BYTES,
            file_name: name.ok_or("a file has no name in UTF-8")?.to_owned(),
        });
    }
    let disk = Descriptor::new(0, extents)?;
    fs::write(descriptor, disk.render())?;
    writeln!(out, "{} sectors", disk.total_sectors())?;
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "create: {error}");
            ExitCode::FAILURE
        }
    }
}
