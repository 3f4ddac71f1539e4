//! Describes every structure of an EROFS image, and verifies it: `dump IMAGE`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

use erofs_writer::Image;

/// Writes the dump, then the result of the verification.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [image] = arguments else {
        return Err("usage: dump IMAGE".into());
    };
    let image = Image::open(File::open(image)?)?;
    let mut text = String::new();
    image.dump(&mut text)?;
    out.write_all(text.as_bytes())?;
    image.verify()?;
    writeln!(out, "the image is sound")?;
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "dump: {error}");
            ExitCode::FAILURE
        }
    }
}
