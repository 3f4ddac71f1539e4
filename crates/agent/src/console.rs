use std::error::Error;
use std::io::Write as _;

/// Says one line on the machine's console. Nobody else may be listening.
pub(crate) fn say(line: &str) {
    if let Ok(mut console) = std::fs::File::options().write(true).open("/dev/console") {
        // There is nowhere left to report that this failed.
        let _ = writeln!(console, "msb-agent: {line}");
    }
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
