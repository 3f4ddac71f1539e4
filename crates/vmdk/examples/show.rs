//! Lists the files of a disk: `show DESCRIPTOR`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use vmdk::Descriptor;

/// Writes a line for each file: its first sector on the disk, its length in sectors, its name.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [descriptor] = arguments else {
        return Err("usage: show DESCRIPTOR".into());
    };
    let disk = Descriptor::parse(&fs::read_to_string(descriptor)?)?;
    let mut start = 0;
    for extent in &disk.extents {
        writeln!(out, "{start} {} {}", extent.sectors, extent.file_name)?;
        start += extent.sectors;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "show: {error}");
            ExitCode::FAILURE
        }
    }
}
