//! A profile: rules for system calls, by name.

use std::collections::BTreeSet;

use container_plan::SeccompFilter;

use super::action::Action;
use super::{Abi, syscalls};
use crate::node::{Fields, Node};
use crate::plan::Note;
use crate::{Architecture, Refusal};

/// The last argument of a system call.
const ARGUMENT_MAX: u32 = 5;

/// The most conditions of a rule. More than one on an argument are alternatives.
const CONDITIONS_MAX: usize = 16;
/// The most rules of a profile. docker's has about 450.
const RULES_MAX: usize = 16_384;

/// A profile: rules, and the action for all other calls.
#[derive(Debug)]
pub(super) struct Profile {
    /// The action for calls without a rule, and for those whose rules' conditions do not hold.
    pub(super) default: Action,
    /// The rules. If several apply to a call, one without a condition decides, and then the strictest action.
    pub(super) rules: Vec<Rule>,
}

/// A rule for one system call.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) action: Action,
    /// The conditions, which must all hold.
    pub(super) conditions: Vec<Condition>,
}

/// A condition on an argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    /// The argument, 0 to 5.
    pub(super) argument: u32,
    pub(super) comparison: Comparison,
    /// The number that the argument is compared with.
    pub(super) value: u64,
}

/// A comparison of an argument with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    /// The bits of this mask are equal.
    MaskedEqual(u64),
}

impl Profile {
    /// Reads the rules of a profile.
    pub(super) fn read(default: &Node, fields: &mut Fields) -> Result<Self, Refusal> {
        let mut profile = Self {
            default: Action::read(default, fields.take("defaultErrnoRet"))?,
            rules: Vec::new(),
        };
        let known = syscalls::names();
        for node in fields.list("syscalls")? {
            profile.read_rules(node.fields()?, &known)?;
        }
        Ok(profile)
    }

    /// Reads the rules of several calls with one action.
    fn read_rules(
        &mut self,
        mut fields: Fields,
        known: &BTreeSet<&'static str>,
    ) -> Result<(), Refusal> {
        let action = Action::read(&fields.require("action")?, fields.take("errnoRet"))?;
        let names = fields.list("names")?;
        let conditions = fields.list("args")?;
        if let Some(node) = conditions.get(CONDITIONS_MAX) {
            return Err(node.refuse("a rule has at most 16 conditions", None));
        }
        let conditions = conditions
            .into_iter()
            .map(|node| condition(node.fields()?))
            .collect::<Result<Vec<_>, _>>()?;
        fields.finish(&mut Vec::new())?;
        for node in &names {
            let name = node.text()?;
            // libseccomp skips names that it does not know. A call that must not be made cannot be skipped.
            let is_skipped = action.is_permissive() || action == self.default;
            if known.contains(name) {
                self.add(name, action, &conditions);
            } else if !is_skipped {
                let reason = "the system call is not known, and cannot be denied by its name";
                return Err(node.refuse(reason, Some("deny it by the default action")));
            }
            if self.rules.len() > RULES_MAX {
                return Err(node.refuse("a profile has at most 16,384 rules", None));
            }
        }
        Ok(())
    }

    /// Adds the rules of one call. As runc has it, each condition is a rule if two are on the same argument.
    fn add(&mut self, name: &str, action: Action, conditions: &[Condition]) {
        let arguments: BTreeSet<_> = conditions
            .iter()
            .map(|condition| condition.argument)
            .collect();
        let rule = |conditions: &[Condition]| Rule {
            name: name.to_owned(),
            action,
            conditions: conditions.to_owned(),
        };
        if arguments.len() == conditions.len() {
            self.rules.push(rule(conditions));
        } else {
            let single = conditions.iter().map(|condition| rule(&[*condition]));
            self.rules.extend(single);
        }
    }
}

/// Returns the interfaces of a profile that its guest has: the guest's own, and 32-bit x86 if it is listed.
pub(super) fn abis(nodes: &[Node], architecture: Architecture) -> Result<Vec<Abi>, Refusal> {
    let mut abis = vec![match architecture {
        Architecture::X86_64 => Abi::X86_64,
        Architecture::Aarch64 => Abi::Aarch64,
    }];
    for node in nodes {
        let name = node.text()?;
        if !name.starts_with("SCMP_ARCH_") {
            let reason = "it must be an architecture such as SCMP_ARCH_X86_64";
            return Err(node.refuse(reason, None));
        }
        let is_x86 = name == "SCMP_ARCH_X86" && architecture == Architecture::X86_64;
        if is_x86 && !abis.contains(&Abi::X86) {
            abis.push(Abi::X86);
        }
    }
    Ok(abis)
}

/// Sets the flags of a filter. As in runc, speculation is allowed if a profile has no list of flags.
pub(super) fn set_flags(
    flags: Option<Node>,
    filter: &mut SeccompFilter,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    let Some(flags) = flags else {
        filter.allows_speculation = true;
        return Ok(());
    };
    for node in flags.list()? {
        match node.text()? {
            "SECCOMP_FILTER_FLAG_LOG" => filter.is_logged = true,
            "SECCOMP_FILTER_FLAG_SPEC_ALLOW" => filter.allows_speculation = true,
            "SECCOMP_FILTER_FLAG_TSYNC" => {
                node.is_ignored(notes);
            }
            _ => {
                let reason = "it must be a flag for LOG, SPEC_ALLOW or TSYNC";
                return Err(node.refuse(reason, None));
            }
        }
    }
    Ok(())
}

fn condition(mut fields: Fields) -> Result<Condition, Refusal> {
    let index = fields.take("index");
    let argument = match &index {
        None => 0,
        Some(index) => match index.number()? {
            argument @ 0..=ARGUMENT_MAX => argument,
            _ => return Err(index.refuse("it must be an argument from 0 to 5", None)),
        },
    };
    let value = fields.number::<u64>("value")?.unwrap_or(0);
    let second = fields.number::<u64>("valueTwo")?.unwrap_or(0);
    let operation = fields.require("op")?;
    let (comparison, value) = match operation.text()? {
        "SCMP_CMP_NE" => (Comparison::NotEqual, value),
        "SCMP_CMP_LT" => (Comparison::Less, value),
        "SCMP_CMP_LE" => (Comparison::LessOrEqual, value),
        "SCMP_CMP_EQ" => (Comparison::Equal, value),
        "SCMP_CMP_GE" => (Comparison::GreaterOrEqual, value),
        "SCMP_CMP_GT" => (Comparison::Greater, value),
        "SCMP_CMP_MASKED_EQ" => (Comparison::MaskedEqual(value), second),
        _ => {
            let reason = "it must be a comparison such as SCMP_CMP_EQ";
            return Err(operation.refuse(reason, None));
        }
    };
    fields.finish(&mut Vec::new())?;
    Ok(Condition {
        argument,
        comparison,
        value,
    })
}
