use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

/// The options of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogOptions {
    /// True to go on until the sandbox, or the job, has ended.
    pub follow: bool,
    /// Number of last records to begin with; all if `None`.
    pub tail: Option<usize>,
    /// The log to read.
    pub source: LogSource,
    /// Number of a job, whose output is read instead of the main command's.
    pub job: Option<u64>,
    /// Only records of this time or later, in nanoseconds since the epoch.
    pub since_ns: Option<u64>,
    /// Only records before this time, in nanoseconds since the epoch.
    pub until_ns: Option<u64>,
    /// Only records of refusals, which the log of the network has.
    pub denied: bool,
}

/// A log of a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LogSource {
    /// The output of the main command, or of a job.
    #[default]
    Output,
    /// The guest's console, since the last start.
    Console,
    /// The messages of the virtual machine's process, since the last start.
    Machine,
    /// The questions of the guest and their ends, as JSON.
    Asks,
    /// The connections of the sandbox and its DNS queries, as JSON.
    Network,
}

/// An option of a log that its source does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogOptionsError {
    /// The log has no times.
    #[error(
        "--since and --until cannot be used with --source console or machine: these have no times"
    )]
    Times,
    /// A job has output only.
    #[error("--job can be used only with --source output")]
    Job,
    /// Only the network refuses.
    #[error("--denied can be used only with --source network")]
    Denied,
}

impl Diagnose for LogOptionsError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument)
    }
}

impl LogOptions {
    /// Checks that the source has what the options ask for.
    ///
    /// # Errors
    /// The first option that it does not have.
    pub const fn check(&self) -> Result<(), LogOptionsError> {
        let has_times = !matches!(self.source, LogSource::Console | LogSource::Machine);
        if !has_times && (self.since_ns.is_some() || self.until_ns.is_some()) {
            return Err(LogOptionsError::Times);
        }
        if self.job.is_some() && !matches!(self.source, LogSource::Output) {
            return Err(LogOptionsError::Job);
        }
        if self.denied && !matches!(self.source, LogSource::Network) {
            return Err(LogOptionsError::Denied);
        }
        Ok(())
    }

    /// Returns true if a record of this time is asked for. A later record may be older, if the host's clock was set.
    pub(crate) fn has(&self, time_ns: Option<u64>) -> bool {
        let is_old = |time_ns: u64| self.since_ns.is_some_and(|since| time_ns < since);
        let is_new = |time_ns: u64| self.until_ns.is_some_and(|until| time_ns >= until);
        time_ns.is_none_or(|time_ns| !is_old(time_ns) && !is_new(time_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_only_the_options_that_it_can_follow() {
        let options = |source| LogOptions {
            source,
            ..LogOptions::default()
        };
        let dated = LogOptions {
            since_ns: Some(1),
            ..options(LogSource::Console)
        };
        assert_eq!(dated.check(), Err(LogOptionsError::Times));
        let job = LogOptions {
            job: Some(1),
            ..options(LogSource::Network)
        };
        assert_eq!(job.check(), Err(LogOptionsError::Job));
        let denied = LogOptions {
            denied: true,
            ..options(LogSource::Asks)
        };
        assert_eq!(denied.check(), Err(LogOptionsError::Denied));
        let network = LogOptions {
            since_ns: Some(1),
            denied: true,
            ..options(LogSource::Network)
        };
        assert_eq!(network.check(), Ok(()));
    }
}
