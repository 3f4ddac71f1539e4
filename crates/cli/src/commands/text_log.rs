use std::io::{self, Write as _};

use msb_runtime::{Sandbox, State, TextLog};

use super::logs::POLL_INTERVAL;
use crate::failure::Outcome;
use crate::tail::last_items;

/// Prints a log of plain lines: the last `tail` of them, or all for `None`. With `follow`, also
/// prints new lines until the sandbox has stopped.
pub(super) async fn print(
    sandbox: &Sandbox,
    log: TextLog,
    tail: Option<usize>,
    follow: bool,
) -> Outcome {
    match print_lines(sandbox, log, tail, follow).await {
        // A reader that closed the pipe wants no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        other => other.map(|()| 0).map_err(Into::into),
    }
}

async fn print_lines(
    sandbox: &Sandbox,
    mut log: TextLog,
    tail: Option<usize>,
    follow: bool,
) -> io::Result<()> {
    log.end_here()?;
    match tail {
        None => print_all(&mut log)?,
        Some(lines) => {
            let kept = last_items(lines, || log.next_line())?;
            kept.iter().try_for_each(|line| print_line(line))?;
        }
    }
    if follow {
        log.go_on();
        follow_lines(sandbox, &mut log).await?;
    }
    match log.rest() {
        Some(rest) => print_line(&rest),
        None => Ok(()),
    }
}

async fn follow_lines(sandbox: &Sandbox, log: &mut TextLog) -> io::Result<()> {
    loop {
        // The state is read first, so that the last output is in the log once the sandbox has
        // stopped.
        let goes_on = sandbox.state()? == State::Running;
        print_all(log)?;
        if !goes_on {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn print_all(log: &mut TextLog) -> io::Result<()> {
    while let Some(line) = log.next_line()? {
        print_line(&line)?;
    }
    Ok(())
}

fn print_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
