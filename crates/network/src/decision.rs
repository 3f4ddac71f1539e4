use std::fmt;

use ipnet::Ipv4Net;

use crate::{DefaultPolicy, Rule, Verdict};

/// The decision about a destination or a name, with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason<'a>,
}

/// The reason for a decision. Its text is the rule of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason<'a> {
    /// A rule of the user.
    Rule(&'a Rule),
    /// No rule applies, and this is the default.
    Default(DefaultPolicy),
    /// The address is in a range that is denied unless a rule opens it.
    Range(Ipv4Net),
    /// The address is one of this host's own.
    Host,
    /// Another resolver would answer for names that are denied.
    Resolver,
    /// QUIC would carry TLS past the network, which ends it at this destination.
    Quic,
    /// The user was asked, and has answered.
    Asked,
    /// The upstream proxy carries no datagrams.
    Proxy,
    /// No rule opens it.
    Never,
}

/// The treatment of a connection to a destination whose TLS is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TlsEnd {
    /// True if a connection is passed on that is not TLS for a name whose TLS is ended. Several
    /// names may have one address.
    pub(crate) passes: bool,
}

impl<'a> Decision<'a> {
    pub(crate) const fn allowed(reason: Reason<'a>) -> Self {
        Self {
            verdict: Verdict::Allowed,
            reason,
        }
    }

    pub(crate) const fn denied(reason: Reason<'a>) -> Self {
        Self {
            verdict: Verdict::Denied,
            reason,
        }
    }

    /// Returns true if the guest may have it.
    pub(crate) fn is_allowed(self) -> bool {
        self.verdict == Verdict::Allowed
    }
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::Default(reach) => reach.fmt(f),
            Self::Range(range) => range.fmt(f),
            Self::Host => f.write_str("host"),
            Self::Resolver => f.write_str("other-resolver"),
            Self::Quic => f.write_str("quic-of-secret"),
            Self::Asked => f.write_str("asked"),
            Self::Proxy => f.write_str("upstream-proxy"),
            Self::Never => f.write_str("never"),
        }
    }
}
