#![expect(unsafe_code, reason = "execveat(2) takes pointers")]

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString, c_char};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

/// The program that a process becomes, with its arguments and environment, as execveat(2) takes them.
///
/// The functions of the C library would run a file that the kernel refuses with `/bin/sh`, whatever
/// the file is.
pub struct Replacement {
    program: Executable,
    arguments: Words,
    environment: Words,
}

/// The file of a program.
enum Executable {
    /// The file with this path.
    Path(CString),
    /// The open file, whatever path leads to it.
    File(BorrowedFd<'static>),
}

/// Words, and the list of pointers to them, which ends with a null pointer.
struct Words {
    pointers: Vec<*const c_char>,
    _words: Vec<CString>,
}

// SAFETY: the pointers lead to the words that are kept beside them, on the heap. Neither is ever
// changed.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn new(words: Vec<CString>) -> Self {
        let pointers = words.iter().map(|word| word.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _words: words,
        }
    }
}

impl Replacement {
    /// Prepares the arguments of execveat(2). If the environment sets a name twice, the later value
    /// counts.
    ///
    /// # Errors
    /// A word that contains a NUL byte.
    pub fn new<'a>(
        program: &Path,
        arguments: impl Iterator<Item = &'a [u8]>,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, NulError> {
        let program = CString::new(program.as_os_str().as_bytes())?;
        Self::with(Executable::Path(program), arguments, environment)
    }

    /// Prepares the arguments as [`new`](Self::new) does, for an open file.
    ///
    /// # Errors
    /// A word that contains a NUL byte.
    pub fn of_file<'a>(
        file: BorrowedFd<'static>,
        arguments: impl Iterator<Item = &'a [u8]>,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, NulError> {
        Self::with(Executable::File(file), arguments, environment)
    }

    fn with<'a>(
        program: Executable,
        arguments: impl Iterator<Item = &'a [u8]>,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, NulError> {
        let arguments: Result<_, _> = arguments.map(CString::new).collect();
        let settings: BTreeMap<&OsStr, &OsStr> = environment
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
            .collect();
        let settings: Result<_, _> = settings
            .into_iter()
            .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect();
        Ok(Self {
            program,
            arguments: Words::new(arguments?),
            environment: Words::new(settings?),
        })
    }

    /// Executes the program in place of this process. Returns only if that fails. Allocates
    /// nothing.
    pub fn execute(&self) -> io::Error {
        let (directory, path, flags) = match &self.program {
            Executable::Path(path) => (libc::AT_FDCWD, path.as_c_str(), 0),
            Executable::File(file) => (file.as_raw_fd(), c"", libc::AT_EMPTY_PATH),
        };
        // SAFETY: the path and all words in the two lists are strings that end with a NUL; each list ends
        // with a null pointer. All live as long as `self`.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                directory,
                path.as_ptr(),
                self.arguments.pointers.as_ptr(),
                self.environment.pointers.as_ptr(),
                flags,
            )
        };
        io::Error::last_os_error()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use super::*;

    fn run(program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> io::Result<String> {
        let environment: Vec<_> = settings
            .iter()
            .map(|&(name, value)| (name.into(), value.into()))
            .collect();
        let words = arguments.iter().map(|word| word.as_bytes());
        let replacement = Replacement::new(program, words, &environment).expect("no NUL");
        let mut command = Command::new("/nothing/looks/at/this");
        // SAFETY: the closure makes one system call.
        let command = unsafe { command.pre_exec(move || Err(replacement.execute())) };
        let output = command.output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    #[test]
    fn a_program_gets_its_words_and_the_last_of_each_setting() {
        let shell = Path::new("/bin/sh");
        let words = ["me", "-c", "echo \"$0 $1 $A $B\"", "a b", "c"];
        let settings = [("A", "1"), ("B", "2"), ("A", "3")];
        assert_eq!(run(shell, &words, &settings).expect("run"), "a b c 3 2\n");
        let nul = Replacement::new(shell, [&b"a\0b"[..]].into_iter(), &[]);
        assert!(nul.is_err());
    }

    #[test]
    fn what_the_kernel_does_not_run_is_not_read_by_a_shell() {
        let directory = tempfile::tempdir().expect("a directory");
        let (program, trace) = (
            directory.path().join("text"),
            directory.path().join("trace"),
        );
        let source = directory.path().join("source");
        std::fs::write(&source, format!("echo run > {}\n", trace.display())).expect("written");
        // Another process writes the program: a child of another thread would keep a descriptor of this one open, and
        // the kernel runs nothing that is open for writing.
        let copied = std::process::Command::new("install")
            .args(["-m", "755"])
            .args([&source, &program])
            .status();
        assert!(copied.expect("install runs").success());
        let error = run(&program, &["text"], &[]).expect_err("no program");
        assert_eq!(error.raw_os_error(), Some(libc::ENOEXEC));
        assert!(!trace.exists());
    }
}
