//! Scripts, the work of processes.

use std::time::Duration;

use serde::Deserialize;

/// The work of a process after its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Script {
    /// Ends with this status.
    Exit(u32),
    /// Ends by itself after this time, or by a signal.
    Sleep(Duration),
    /// Writes this text and ends.
    Print(String),
    /// Writes this number of bytes and ends.
    Fill(usize),
    /// Copies input to output until it ends.
    Cat,
    /// Ends by SIGKILL only.
    Stubborn,
    /// Ends because of its memory limit.
    OutOfMemory,
    /// Never reports its end.
    Silent,
    /// Cannot be started.
    Broken,
    /// The machine does not answer its start.
    Hanging,
}

#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    args: Vec<String>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    process: Option<Process>,
}

impl Script {
    /// Reads the script of a container's `config.json`.
    pub(crate) fn of_config(json: &[u8]) -> Self {
        let config: Option<Config> = serde_json::from_slice(json).ok();
        config
            .and_then(|config| config.process)
            .map_or(Self::Exit(0), |process| Self::of(&process))
    }

    /// Reads the script of a further process.
    pub(crate) fn of_process(json: &[u8]) -> Self {
        let process: Option<Process> = serde_json::from_slice(json).ok();
        process.map_or(Self::Exit(0), |process| Self::of(&process))
    }

    fn of(process: &Process) -> Self {
        let mut words = process.args.iter().map(String::as_str);
        let command = words.next().unwrap_or_default();
        let rest: Vec<_> = words.collect();
        let number = rest.first().and_then(|word| word.parse::<u32>().ok());
        match command {
            "sleep" => Self::Sleep(Duration::from_secs(number.unwrap_or(u32::MAX).into())),
            "echo" => Self::Print(format!("{}\n", rest.join(" "))),
            "fill" => Self::Fill(
                number
                    .and_then(|bytes| bytes.try_into().ok())
                    .unwrap_or_default(),
            ),
            "cat" => Self::Cat,
            "stubborn" => Self::Stubborn,
            "oom" => Self::OutOfMemory,
            "silent" => Self::Silent,
            "broken" => Self::Broken,
            "hanging" => Self::Hanging,
            _ => Self::Exit(number.unwrap_or(0)),
        }
    }
}
