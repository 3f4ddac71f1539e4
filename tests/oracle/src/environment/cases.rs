//! Ways to start a command.

/// The start of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// `run`, with pipes.
    Run,
    /// `run -d`, whose output is in the logs.
    Detached,
    /// `exec` in a container of root.
    Exec,
}

/// A case: a name, the start and its options.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) start: Start,
    pub(super) options: &'static [&'static str],
}

impl Case {
    /// Returns true if the command has a terminal and standard input, as a user at a keyboard starts it.
    pub(super) fn is_at_terminal(&self) -> bool {
        self.options.contains(&"-ti")
    }
}

const fn case(name: &'static str, start: Start, options: &'static [&'static str]) -> Case {
    Case {
        name,
        start,
        options,
    }
}

/// The cases. The command's user is root, a number that no account has, or an account by its name.
pub(super) const CASES: [Case; 14] = [
    case("run", Start::Run, &[]),
    case("run -i", Start::Run, &["-i"]),
    case("run -u 1234", Start::Run, &["-u", "1234"]),
    case("run -u www-data", Start::Run, &["-u", "www-data"]),
    case("run -ti", Start::Run, &["-ti"]),
    case("run -ti -u 1234", Start::Run, &["-ti", "-u", "1234"]),
    case("run -d -u www-data", Start::Detached, &["-u", "www-data"]),
    case(
        "run -d -t -u 1234:games",
        Start::Detached,
        &["-t", "-u", "1234:games"],
    ),
    case("exec", Start::Exec, &[]),
    case("exec -i", Start::Exec, &["-i"]),
    case("exec -u 1234", Start::Exec, &["-u", "1234"]),
    case("exec -u www-data", Start::Exec, &["-u", "www-data"]),
    case("exec -ti", Start::Exec, &["-ti"]),
    case(
        "exec -ti -u www-data",
        Start::Exec,
        &["-ti", "-u", "www-data"],
    ),
];
