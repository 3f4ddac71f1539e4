//! The server over standard input and output, as `sftp -D` starts it.

use std::error::Error;
use std::io::{stdin, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    sftp_server::serve(stdin().lock(), stdout().lock())?;
    Ok(())
}
