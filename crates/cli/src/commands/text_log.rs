use std::collections::VecDeque;
use std::io::{self, Write as _};

use msb_runtime::{Sandbox, State, TextLog};

use super::logs::LOOK_INTERVAL;
use crate::failure::Outcome;

/// Prints a log of plain lines: the last `tail` of them where it says so, then, with `follow`, what
/// comes until the sandbox has stopped.
pub(super) async fn print(
    sandbox: &Sandbox,
    log: TextLog,
    tail: Option<usize>,
    follow: bool,
) -> Outcome {
    match print_lines(sandbox, log, tail, follow).await {
        // A reader that went away wants no more.
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
    let mut kept = VecDeque::new();
    while let Some(line) = log.next_line()? {
        match tail {
            None => print_line(&line)?,
            Some(lines) => {
                kept.push_back(line);
                if kept.len() > lines {
                    kept.pop_front();
                }
            }
        }
    }
    kept.iter().try_for_each(|line| print_line(line))?;
    if follow {
        follow_lines(sandbox, &mut log).await?;
    }
    match log.rest() {
        Some(rest) => print_line(&rest),
        None => Ok(()),
    }
}

async fn follow_lines(sandbox: &Sandbox, log: &mut TextLog) -> io::Result<()> {
    loop {
        // Asked first: what was printed last is there once it is over.
        let goes_on = sandbox.state()? == State::Running;
        while let Some(line) = log.next_line()? {
            print_line(&line)?;
        }
        if !goes_on {
            return Ok(());
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

fn print_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
