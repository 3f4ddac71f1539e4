use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_agent_protocol::ClientError;
use msb_runtime::network::InvalidRules;
use msb_runtime::{ConnectError, UpdateError};

/// The rules of a sandbox's network cannot be shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum NetworkRulesError {
    /// The sandbox has no network device.
    #[error(
        "sandbox {sandbox} has no network: it was created with --network none, and has no network device"
    )]
    NoNetwork {
        /// The name of the sandbox concerned.
        sandbox: String,
    },
    /// The network device of a sandbox is there as long as the sandbox.
    #[error(
        "the network of sandbox {sandbox} cannot become none, because its device stays: the mode listed without \
         rules reaches nothing"
    )]
    Device {
        /// The name of the sandbox concerned.
        sandbox: String,
    },
    /// A text is not a rule, or the rules cannot hold.
    #[error(transparent)]
    Rules(#[from] InvalidRules),
    /// The sandbox has no such rule.
    #[error("sandbox {sandbox} has no rule {rule}")]
    Missing {
        /// The name of the sandbox concerned.
        sandbox: String,
        /// The rule.
        rule: String,
    },
    /// The TLS of a host is not ended, so its requests cannot be told apart.
    #[error(
        "sandbox {sandbox} does not end the TLS of {host}: the hosts of secrets and of rules for requests are fixed at \
         its creation"
    )]
    NotEnded {
        /// The name of the sandbox concerned.
        sandbox: String,
        /// The host.
        host: String,
    },
    /// The subject of a question is not one destination.
    #[error("'{}' is not one destination, so no rule is kept for it", .subject.escape_debug())]
    NotOne {
        /// The subject of the question.
        subject: String,
    },
    /// The answer denies a name at one port, and is to be kept.
    #[error("{subject} can only be denied once: a name is denied with all its ports")]
    DeniedPort {
        /// The subject of the question.
        subject: String,
    },
    /// The sandbox's description cannot be read.
    #[error("cannot read the description of sandbox {sandbox}")]
    Unreadable {
        /// The name of the sandbox concerned.
        sandbox: String,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The sandbox's description cannot be written.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// The running machine cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The running machine does not follow the rules.
    #[error("the network of the running sandbox does not follow the rules")]
    Machine(#[source] ClientError),
    /// The program ends, and with it the change.
    #[error("the change of the rules was broken off")]
    BrokenOff,
}

impl Diagnose for NetworkRulesError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Rules(source) => source.diagnosis(),
            Self::Update(source) => source.diagnosis(),
            Self::Connect(source) => source.diagnosis(),
            Self::Machine(source) => source.diagnosis(),
            Self::Unreadable { source, .. } => source.diagnosis(),
            Self::BrokenOff => Diagnosis::default(),
            Self::Missing { .. } => Diagnosis::new(ErrorKind::NotFound),
            Self::DeniedPort { .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("deny the name with all its ports with msb network deny"),
            Self::NotEnded { .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("create a new sandbox with the rule, or allow the host without https://"),
            Self::NoNetwork { .. } | Self::Device { .. } | Self::NotOne { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
        }
    }
}
