use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use container_plan::Process;
use guest_container::{Found, Replacement, become_process};
use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Failure, FailureKind};

use crate::exec::{Program, find_program, own_home, parse_environment, variable};

/// Becomes the program of a plan, as a process of a container. Returns only if that fails.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    become_process(arguments, find)
}

/// Finds the program of a process, as the process's user sees it.
fn find(process: &Process) -> Result<Found, Failure> {
    let settings = process.env.iter();
    let settings: Vec<_> = settings
        .map(|setting| Bytes::copy_from_slice(setting.as_bytes()))
        .collect();
    let mut environment = parse_environment(&settings);
    if variable(&environment, "HOME").is_none() {
        let home = own_home().unwrap_or_else(|| "/".to_owned());
        environment.push(("HOME".into(), home.into()));
    }
    let word = process.args.first().map_or("", String::as_str);
    let directory = PathBuf::from(&process.cwd);
    let path = variable(&environment, "PATH");
    let path = find_program(word.as_bytes(), path, &directory)?;
    let arguments = process.args.iter().map(|argument| argument.as_bytes());
    let replacement = Replacement::new(&path, arguments, &environment);
    let replacement = replacement.map_err(|_| Failure {
        kind: FailureKind::BadRequest.into(),
        message: "an argument contains a NUL byte".to_owned(),
    })?;
    let program = Program {
        word: Bytes::copy_from_slice(word.as_bytes()),
        path,
        directory,
    };
    Ok(Found {
        replacement,
        explain: Box::new(move |error: &std::io::Error| program.explain(error)),
    })
}
