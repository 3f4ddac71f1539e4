use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::{Backend, Requirement, Unavailable};

/// The virtual machine monitor that runs sandboxes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum VmmChoice {
    /// libkrun if the host has hardware virtualisation, QEMU otherwise.
    #[default]
    Auto,
    /// libkrun, which needs hardware virtualisation.
    Krun,
    /// QEMU, also without hardware virtualisation.
    Qemu,
}

impl VmmChoice {
    /// Returns the value of `--vmm` for this choice.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Krun => "krun",
            Self::Qemu => "qemu",
        }
    }
}

impl fmt::Display for VmmChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a word that does not name a VMM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is not a VMM: write auto, krun or qemu")]
pub struct UnknownVmm {
    /// The word that was refused.
    pub word: String,
}

impl FromStr for VmmChoice {
    type Err = UnknownVmm;

    fn from_str(word: &str) -> Result<Self, UnknownVmm> {
        [Self::Auto, Self::Krun, Self::Qemu]
            .into_iter()
            .find(|choice| choice.name() == word)
            .ok_or_else(|| UnknownVmm {
                word: word.to_owned(),
            })
    }
}

/// The VMM to use.
pub struct Selection<'a> {
    /// The VMM.
    pub vmm: &'a dyn Backend,
    /// A notice for the user if this is not the best VMM: the reason and the cost.
    pub notice: Option<String>,
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection")
            .field("vmm", &self.vmm.name())
            .field("notice", &self.notice)
            .finish()
    }
}

/// The error that no VMM can be used.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// The requested VMM cannot run on this host.
    #[error("cannot use {vmm}")]
    Unavailable {
        /// The VMM's name, as in `--vmm`.
        vmm: &'static str,
        /// The missing requirement.
        #[source]
        source: Unavailable,
    },
    /// The requested VMM is not part of this build.
    #[error("this build of msb does not have {vmm}")]
    NotBuilt {
        /// The VMM's name, as in `--vmm`.
        vmm: &'static str,
    },
    /// No VMM can run on this host.
    #[error("no VMM can run on this host: {}", list(.tried))]
    None {
        /// The name of each VMM that was tried, with its missing requirement.
        tried: Vec<(&'static str, Unavailable)>,
    },
}

fn list(tried: &[(&'static str, Unavailable)]) -> String {
    let lines = tried
        .iter()
        .map(|(name, missing)| format!("{name}: {missing}"));
    lines.collect::<Vec<_>>().join("; ")
}

impl Diagnose for ChooseError {
    fn diagnosis(&self) -> Diagnosis {
        let missing = Diagnosis::new(ErrorKind::VmmMissing);
        match self {
            Self::Unavailable { vmm, source } if *vmm == VmmChoice::Krun.name() => {
                missing.hint(format!("{}, or use --vmm qemu", source.remedy))
            }
            Self::Unavailable { source, .. } => missing.hint(source.remedy.as_str()),
            Self::NotBuilt { .. } => missing,
            Self::None { tried } => {
                let hint =
                    |(vmm, lacking): &(_, Unavailable)| format!("for {vmm}: {}", lacking.remedy);
                missing.with_hints(tried.iter().map(hint))
            }
        }
    }
}

/// Picks the `wanted` VMM from `backends`, which are ordered from best to worst.
///
/// # Errors
/// If the wanted VMM, or every VMM, lacks a requirement.
pub fn choose<'a>(
    wanted: VmmChoice,
    backends: &'a [&'a dyn Backend],
) -> Result<Selection<'a>, ChooseError> {
    if wanted == VmmChoice::Auto {
        return choose_first(backends);
    }
    let vmm = backends
        .iter()
        .find(|vmm| vmm.name() == wanted.name())
        .ok_or(ChooseError::NotBuilt { vmm: wanted.name() })?;
    vmm.probe().map_err(|source| ChooseError::Unavailable {
        vmm: vmm.name(),
        source,
    })?;
    Ok(Selection {
        vmm: *vmm,
        notice: None,
    })
}

fn choose_first<'a>(backends: &'a [&'a dyn Backend]) -> Result<Selection<'a>, ChooseError> {
    let mut tried = Vec::new();
    for vmm in backends {
        match vmm.probe() {
            Ok(()) => {
                return Ok(Selection {
                    vmm: *vmm,
                    notice: fallback_notice(&tried),
                });
            }
            Err(missing) => tried.push((vmm.name(), missing)),
        }
    }
    Err(ChooseError::None { tried })
}

fn fallback_notice(tried: &[(&'static str, Unavailable)]) -> Option<String> {
    let (_, missing) = tried.first()?;
    let slower = "the sandbox runs several times slower under QEMU's software emulation";
    Some(if missing.requirement == Requirement::Processor {
        format!("this host has no hardware virtualisation ({missing}): {slower}")
    } else {
        // The host may have it, and the user can do something about the cause.
        let remedy = &missing.remedy;
        format!("hardware virtualisation cannot be used ({missing}): {slower}; {remedy}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(error: &ChooseError) -> String {
        error.diagnosis().advice().expect("remedies")
    }

    struct Fake(&'static str, bool);

    impl Backend for Fake {
        fn name(&self) -> &'static str {
            self.0
        }

        fn probe(&self) -> Result<(), Unavailable> {
            let missing = || Unavailable {
                reason: "no luck".into(),
                remedy: "get some".into(),
                requirement: Requirement::Other,
            };
            self.1.then_some(()).ok_or_else(missing)
        }

        fn serves_shares(&self) -> bool {
            false
        }

        fn device_limit(&self, _: bool) -> usize {
            3
        }
    }

    #[test]
    fn auto_takes_the_first_that_runs_and_says_when_it_is_not_the_best() {
        let (krun, qemu) = (Fake("krun", true), Fake("qemu", true));
        let backends: [&dyn Backend; 2] = [&krun, &qemu];
        let best = choose(VmmChoice::Auto, &backends).unwrap();
        assert_eq!((best.vmm.name(), best.notice), ("krun", None));

        let krun = Fake("krun", false);
        let backends: [&dyn Backend; 2] = [&krun, &qemu];
        let second = choose(VmmChoice::Auto, &backends).unwrap();
        assert_eq!(second.vmm.name(), "qemu");
        assert_eq!(
            second.notice.unwrap(),
            "hardware virtualisation cannot be used (no luck): the sandbox runs several times slower \
             under QEMU's software emulation; get some"
        );
        let missing = |requirement| Unavailable {
            reason: "no vmx".into(),
            remedy: "buy another".into(),
            requirement,
        };
        let notice = |requirement| fallback_notice(&[("krun", missing(requirement))]).unwrap();
        let of_processor = notice(Requirement::Processor);
        assert!(of_processor.starts_with("this host has no hardware virtualisation (no vmx)"));
        assert!(!of_processor.contains("buy"), "{of_processor}");
        assert!(notice(Requirement::KvmPermission).ends_with("; buy another"));
    }

    #[test]
    fn a_named_one_is_taken_or_refused_and_never_replaced() {
        let (krun, qemu) = (Fake("krun", false), Fake("qemu", true));
        let backends: [&dyn Backend; 2] = [&krun, &qemu];
        let named = choose(VmmChoice::Qemu, &backends).unwrap();
        assert_eq!((named.vmm.name(), named.notice), ("qemu", None));
        let error = choose(VmmChoice::Krun, &backends).unwrap_err();
        assert_eq!(error.to_string(), "cannot use krun");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("no luck"));
        assert_eq!(advice(&error), "get some, or use --vmm qemu");
        let error = choose(VmmChoice::Krun, &backends[1..]).unwrap_err();
        assert!(matches!(error, ChooseError::NotBuilt { vmm: "krun" }));
    }

    #[test]
    fn with_none_left_every_reason_is_told() {
        let (krun, qemu) = (Fake("krun", false), Fake("qemu", false));
        let backends: [&dyn Backend; 2] = [&krun, &qemu];
        let error = choose(VmmChoice::Auto, &backends).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no VMM can run on this host: krun: no luck; qemu: no luck"
        );
        assert_eq!(advice(&error), "for krun: get some\nfor qemu: get some");
    }

    #[test]
    fn words_name_choices_both_ways() {
        for choice in [VmmChoice::Auto, VmmChoice::Krun, VmmChoice::Qemu] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!(
            VmmChoice::from_str("xen"),
            Err(UnknownVmm {
                word: "xen".to_owned()
            })
        );
    }
}
