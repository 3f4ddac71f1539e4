use msb_runtime::{StopSignal, Stopping};

// The options for the way a sandbox is stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct StoppingArguments {
    /// Signal that asks the command to end [default: the image's, or SIGTERM]
    #[arg(long, value_name = "SIGNAL")]
    stop_signal: Option<StopSignal>,
    /// Time limit for processes to end at msb stop
    #[arg(long, value_name = "SECONDS", default_value_t = Stopping::default().timeout_s)]
    stop_timeout: u64,
}

impl StoppingArguments {
    /// Returns the name of the signal; `None` for the image's.
    pub(crate) fn signal(&self) -> Option<String> {
        self.stop_signal.map(|signal| signal.to_string())
    }

    /// Returns the time that processes have, in ms.
    pub(crate) const fn timeout_ms(&self) -> u64 {
        self.stop_timeout.saturating_mul(1000)
    }
}
