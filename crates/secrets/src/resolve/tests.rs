use std::error::Error as _;
use std::fs;
use std::io::Write as _;
use std::thread;

use super::*;
use crate::test_server::TEST_TIMEOUT;
use crate::value::VALUE_MAX_BYTES;

fn secret(from: &str) -> Secret {
    let mut secret: Secret = "K@h.example".parse().unwrap();
    secret.from = from.parse().unwrap();
    secret
}

fn no_variable(_: &str) -> Option<OsString> {
    None
}

/// Resolves a secret, and returns the value or the error with its causes.
fn resolved(from: &str) -> Result<String, String> {
    resolved_with(from, &no_variable)
}

fn resolved_with(
    from: &str,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<String, String> {
    match resolve_within(&secret(from), variable, TEST_TIMEOUT) {
        Ok(resolved) => {
            assert_eq!(resolved.name.as_str(), "K");
            Ok(resolved.value.expose().to_owned())
        }
        Err(error) => {
            assert_eq!(error.diagnosis().kind(), expected_kind(&error), "{error}");
            assert!(error.diagnosis().advice().is_some(), "{error}");
            Err(with_causes(&error))
        }
    }
}

fn expected_kind(error: &ResolveError) -> ErrorKind {
    match error {
        ResolveError::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            ErrorKind::PathNotFound
        }
        _ => ErrorKind::InvalidArgument,
    }
}

fn with_causes(error: &ResolveError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[test]
fn a_variable_is_read() {
    let set = |value: &'static str| move |name: &str| (name == "V").then(|| OsString::from(value));
    assert_eq!(
        resolved_with("env:V", &set("hunter22")),
        Ok("hunter22".to_owned())
    );
    assert_eq!(
        resolved_with("env:V", &set("hunter22\r\n")),
        Ok("hunter22".to_owned())
    );
    let unset = resolved("env:V").unwrap_err();
    assert_eq!(unset, "cannot get the secret K: the variable V is not set");
    let empty = resolved_with("env:V", &set("")).unwrap_err();
    assert_eq!(
        empty,
        "cannot get the secret K from the variable V: the value is empty"
    );
    let lines = resolved_with("env:V", &set("hunter22\nhunter22")).unwrap_err();
    assert!(
        lines.contains("more than one line") && !lines.contains("hunter22"),
        "{lines}"
    );
    let hint = resolve_one(&secret("env:MSB_A_VARIABLE_THAT_IS_NOT_SET"))
        .unwrap_err()
        .diagnosis();
    assert!(
        hint.advice()
            .is_some_and(|hint| hint.contains("export MSB_A_VARIABLE_THAT_IS_NOT_SET="))
    );
}

#[test]
fn a_file_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("k");
    let from = format!("file:{}", path.display());
    let missing = resolved(&from).unwrap_err();
    assert!(
        missing.starts_with("cannot get the secret K from the file '"),
        "{missing}"
    );
    assert!(missing.contains(&path.display().to_string()), "{missing}");
    for (content, expected) in [
        ("hunter22", Ok("hunter22")),
        ("hunter22\n", Ok("hunter22")),
        ("hunter22\r\n", Ok("hunter22")),
        ("", Err("the value is empty")),
        ("\n", Err("the value is empty")),
        ("hunter22\n\n", Err("more than one line")),
        (" hunter22", Err("begins or ends with a space")),
        ("1234567\n", Err("fewer than 8 bytes")),
    ] {
        fs::write(&path, content).unwrap();
        match (resolved(&from), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected),
            (Err(error), Err(expected)) => {
                assert!(
                    error.contains(expected) && !error.contains("hunter22"),
                    "{error}"
                );
            }
            (got, expected) => panic!("{content:?}: {got:?}, expected {expected:?}"),
        }
    }
    fs::write(&path, b"hunter22\xff").unwrap();
    let error = resolved(&from).unwrap_err();
    assert!(error.contains("is not UTF-8"), "{error}");
    let directory_itself = format!("file:{}", directory.path().display());
    resolved(&directory_itself).unwrap_err();
}

#[test]
fn a_file_of_any_length_is_read_up_to_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("k");
    let from = format!("file:{}", path.display());
    let longest = "a".repeat(VALUE_MAX_BYTES);
    for end in ["", "\n", "\r\n"] {
        fs::write(&path, format!("{longest}{end}")).unwrap();
        assert_eq!(resolved(&from).as_deref(), Ok(longest.as_str()));
    }
    for content in [format!("{longest}a"), format!("{longest}aaaa\n")] {
        fs::write(&path, content).unwrap();
        let error = resolved(&from).unwrap_err();
        assert!(
            error.contains("more than 8192 bytes, which is the limit"),
            "{error}"
        );
    }
    let endless = resolved("file:/dev/zero").unwrap_err();
    assert!(endless.contains("more than 8192 bytes"), "{endless}");
}

#[test]
fn a_home_directory_is_that_of_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("k"), "hunter22\n").unwrap();
    let home = directory.path().as_os_str().to_owned();
    let variable = move |name: &str| (name == "HOME").then(|| home.clone());
    assert_eq!(
        resolved_with("file:~/k", &variable),
        Ok("hunter22".to_owned())
    );
    let unset = resolved("file:~/k").unwrap_err();
    assert_eq!(
        unset,
        "cannot get the secret K from the file '~/k': the variable HOME is not set"
    );
}

#[test]
fn a_pipe_is_read_when_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let from = format!("file:{}", path.display());
    let timeout = Duration::from_millis(50);
    let error = resolve_within(&secret(&from), &no_variable, timeout).unwrap_err();
    let ResolveError::File { source, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), io::ErrorKind::TimedOut);

    let writer = thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(&path).unwrap();
        pipe.write_all(b"hunter22\n").unwrap();
    });
    assert_eq!(resolved(&from), Ok("hunter22".to_owned()));
    writer.join().unwrap();
}

#[test]
fn the_output_of_a_command_is_read() {
    assert_eq!(resolved("cmd:echo hunter22"), Ok("hunter22".to_owned()));
    assert_eq!(
        resolved("cmd:printf hunter22; echo other >&2"),
        Ok("hunter22".to_owned())
    );
    assert_eq!(
        resolved("cmd:cat; echo hunter22"),
        Ok("hunter22".to_owned())
    );
    let closed = "cmd:printf hunter22; exec >&-; sleep 0.1";
    assert_eq!(resolved(closed), Ok("hunter22".to_owned()));
}

#[test]
fn a_command_that_fails_is_named() {
    for (command, expected) in [
        ("echo hunter22; exit 3", "it failed with exit status: 3"),
        ("kill -9 $$", "it failed with signal: 9"),
        (
            "msb-a-program-that-does-not-exist",
            "it failed with exit status: 127",
        ),
        ("true", "the value is empty"),
        ("echo; echo", "more than one line"),
        ("printf '\\377'", "is not UTF-8"),
        ("cat /dev/zero", "it printed more than 8192 bytes"),
        ("yes hunter22", "it printed more than 8192 bytes"),
    ] {
        let error = resolved(&format!("cmd:{command}")).unwrap_err();
        assert!(
            error.starts_with("cannot get the secret K from the command '"),
            "{error}"
        );
        let (_, cause) = error.split_once("': ").unwrap();
        assert!(cause.contains(expected), "{command}: {error}");
        assert!(!cause.contains("hunter22"), "{error}");
    }
}

#[test]
fn a_command_that_does_not_end_is_killed_with_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pid");
    // The second process outlives the shell, which would be waited for alone.
    let command = format!("cmd:sleep 1000 & echo $! > {}; wait", path.display());
    let timeout = Duration::from_millis(500);
    let error = resolve_within(&secret(&command), &no_variable, timeout).unwrap_err();
    assert!(
        with_causes(&error).contains("did not end within 30 seconds"),
        "{error}"
    );
    wait_for_end(fs::read_to_string(&path).unwrap_or_default().trim());
}

#[test]
fn what_a_command_leaves_behind_is_killed() {
    let shown = resolved("cmd:sleep 1000 & echo process=$!").unwrap();
    wait_for_end(shown.strip_prefix("process=").unwrap());
}

/// Waits until a process has ended, whether or not its new parent has reaped it.
fn wait_for_end(pid: &str) {
    let stat = format!("/proc/{pid}/stat");
    let deadline = Instant::now() + TEST_TIMEOUT;
    // The shell can be killed before it has written the number.
    while !pid.is_empty() {
        let text = fs::read_to_string(&stat).unwrap_or_default();
        let state = text
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "the process {pid} is still running: {text}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_given_value_is_taken_or_missing() {
    let mut given = secret("given");
    let error = resolve(std::slice::from_ref(&given)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot get the secret K: its value was given by a program and is not stored"
    );
    assert!(error.diagnosis().advice().is_some());
    given.value = Some(SecretValue::new("hunter22").unwrap());
    let all = resolve(&[given]).unwrap();
    assert_eq!(all[0].value.expose(), "hunter22");
    assert!(!format!("{all:?}").contains("hunter22"));
}

#[test]
fn the_first_secret_without_a_value_is_the_error() {
    let mut second = secret("file:/nonexistent/k");
    second.name = "L".parse().unwrap();
    let mut third = secret("given");
    third.name = "M".parse().unwrap();
    let error = resolve(&[secret("cmd:echo 12345678"), second, third]).unwrap_err();
    assert!(error.to_string().contains("secret L"), "{error}");
}
