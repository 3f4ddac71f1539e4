//! The request for a command, as the agent reads it.

use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::Exec;
use msb_client::Error;
use msb_runtime::{Overrides, Process, exec_in};

use super::ExecOptions;

/// Returns the request for a command in a sandbox whose main command is `first`.
///
/// # Errors
/// No command, an argument with a NUL byte, a relative working directory, an unknown limit.
pub(crate) fn message(first: &Process, options: &ExecOptions) -> Result<Exec, Error> {
    check(options)?;
    let ulimits: Result<Vec<_>, _> = options
        .ulimits
        .iter()
        .map(|(name, limit)| limit.named(name))
        .collect();
    // The words of the command and its variables may be any bytes, so they are set below.
    let overrides = Overrides {
        command: vec![String::new()],
        user: options.user.clone(),
        terminal: options.tty.map(Into::into),
        stdin: options.stdin,
        groups: options.groups.clone(),
        ulimits: ulimits?,
        ..Overrides::default()
    };
    let mut exec = exec_in(first, &overrides)?;
    exec.argv = options.argv.iter().map(|word| word.to_bytes()).collect();
    for setting in options.env.settings()? {
        set(&mut exec.env, setting.into());
    }
    if let Some(cwd) = &options.cwd {
        exec.working_directory = cwd.to_bytes();
        exec.working_directory_must_exist = true;
    }
    Ok(exec)
}

fn check(options: &ExecOptions) -> Result<(), Error> {
    let Some(program) = options.argv.first() else {
        return Err(Error::invalid("no command was given"));
    };
    if program.as_bytes().is_empty() {
        return Err(Error::invalid("the program's name is empty"));
    }
    if let Some(word) = options
        .argv
        .iter()
        .find(|word| word.as_bytes().contains(&0))
    {
        let word = msb_client::printable(&word.to_string());
        return Err(Error::invalid(format!(
            "the argument '{word}' contains a NUL byte"
        )));
    }
    match &options.cwd {
        Some(cwd) if !cwd.as_bytes().starts_with(b"/") => {
            let cwd = msb_client::printable(&cwd.to_string());
            Err(Error::invalid(format!(
                "'{cwd}' is not an absolute path; write /{cwd}"
            )))
        }
        _ => Ok(()),
    }
}

/// Sets a variable. It replaces one of the same name, in its place.
fn set(environment: &mut Vec<Bytes>, setting: Bytes) {
    let same = environment
        .iter_mut()
        .find(|earlier| name(earlier) == name(&setting));
    match same {
        Some(earlier) => *earlier = setting,
        None => environment.push(setting),
    }
}

fn name(setting: &Bytes) -> &[u8] {
    let end = setting.iter().position(|&byte| byte == b'=');
    &setting[..end.unwrap_or(setting.len())]
}

#[cfg(test)]
mod tests {
    use msb_client::Text;

    use super::*;

    fn first() -> Process {
        Process {
            env: vec!["PATH=/bin".to_owned(), "A=1".to_owned()],
            working_directory: "/srv".to_owned(),
            ..Process::default()
        }
    }

    #[test]
    fn a_command_may_have_any_bytes() {
        let mut options = ExecOptions::new([Text::from("echo"), Text::from(vec![0xff])]);
        options.env.set("A", vec![0xfe]);
        options.env.set("B", "2");
        let exec = message(&first(), &options).expect("good");
        assert_eq!(exec.argv, [&b"echo"[..], b"\xff"]);
        assert_eq!(exec.env, [&b"PATH=/bin"[..], b"A=\xfe", b"B=2"]);
        assert_eq!(&exec.working_directory[..], b"/srv");
        assert!(!exec.working_directory_must_exist);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |options: &ExecOptions| message(&first(), options).is_err();
        assert!(refused(&ExecOptions::default()));
        assert!(refused(&ExecOptions::new([""])));
        assert!(refused(&ExecOptions::new(["a\0b"])));
        let mut relative = ExecOptions::new(["true"]);
        relative.cwd = Some(Text::from("srv"));
        assert!(refused(&relative));
        let mut limited = ExecOptions::new(["true"]);
        limited.ulimits.insert("files".to_owned(), 1.into());
        assert!(refused(&limited));
    }
}
