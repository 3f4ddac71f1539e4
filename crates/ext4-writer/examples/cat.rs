//! Writes a file of an ext4 image to standard output: `cat IMAGE PATH`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use ext4_writer::Image;

/// Copies the file's content, which is streamed.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [image, path] = arguments else {
        return Err("usage: cat IMAGE PATH".into());
    };
    let image = Image::open(File::open(image)?)?;
    let files = image.files()?;
    io::copy(&mut files.open(path.as_bytes())?, out)?;
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cat: {error}");
            ExitCode::FAILURE
        }
    }
}
