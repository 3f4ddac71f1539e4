/// The image of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Image {
    /// It has its own Entrypoint, Cmd, Env, WorkingDir and User.
    Full,
    /// It has only a Cmd.
    Plain,
}

/// An invocation and its expected result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) case: &'static str,
    pub(super) image: Image,
    pub(super) options: &'static [&'static str],
    pub(super) command: &'static [&'static str],
    /// The content of standard input.
    pub(super) stdin: &'static str,
    /// The signal that the client gets once the command has printed its first line.
    pub(super) signal: Option<&'static str>,
    pub(super) code: i32,
    /// All of standard output; `None` if the documentation does not say.
    pub(super) stdout: Option<&'static str>,
    /// A part of standard error.
    pub(super) stderr: &'static str,
}

impl Row {
    pub(super) const fn new(case: &'static str) -> Self {
        Self {
            case,
            image: Image::Full,
            options: &[],
            command: &[],
            stdin: "",
            signal: None,
            code: 0,
            stdout: None,
            stderr: "",
        }
    }

    pub(super) const fn image(mut self, image: Image) -> Self {
        self.image = image;
        self
    }

    pub(super) const fn with(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }

    pub(super) const fn runs(mut self, command: &'static [&'static str]) -> Self {
        self.command = command;
        self
    }

    pub(super) const fn typed(mut self, stdin: &'static str) -> Self {
        self.stdin = stdin;
        self
    }

    pub(super) const fn signalled(mut self, signal: &'static str) -> Self {
        self.signal = Some(signal);
        self
    }

    pub(super) const fn exits(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    pub(super) const fn prints(mut self, stdout: &'static str) -> Self {
        self.stdout = Some(stdout);
        self
    }

    pub(super) const fn says(mut self, stderr: &'static str) -> Self {
        self.stderr = stderr;
        self
    }
}
