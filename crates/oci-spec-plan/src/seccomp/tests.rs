use container_plan::Instruction;
use proptest::prelude::*;

use super::action::Action;
use super::compile::compile;
use super::profile::{Comparison, Condition, Profile, Rule};
use super::{Abi, syscalls};

const ALLOW: u32 = 0x7fff_0000;
const LOG: u32 = 0x7ffc_0000;
const EPERM: u32 = 0x0005_0001;
const ENOSYS: u32 = 0x0005_0026;
const KILL_PROCESS: u32 = 0x8000_0000;

/// `struct seccomp_data`, as far as filters of this crate read it.
#[derive(Debug, Clone, Copy)]
struct Call {
    abi_number: u32,
    number: u32,
    arguments: [u64; 6],
}

impl Call {
    fn new(abi: Abi, name: &str, arguments: [u64; 6]) -> Self {
        Self {
            abi_number: abi.audit_number(),
            number: *syscalls::numbers(abi).get(name).expect("the call exists"),
            arguments,
        }
    }

    fn word(&self, offset: u32) -> u32 {
        let index = usize::try_from(offset).expect("it is small") / 4;
        let mut words = vec![self.number, self.abi_number, 0, 0];
        for argument in self.arguments {
            let low = argument & u64::from(u32::MAX);
            words.push(u32::try_from(low).expect("it was cut"));
            words.push(u32::try_from(argument >> 32).expect("it was shifted"));
        }
        words[index]
    }
}

/// Runs a program as the kernel does.
fn run(program: &[Instruction], call: &Call) -> u32 {
    let mut accumulator = 0;
    let mut next = 0;
    loop {
        let Instruction { code, jt, jf, k } = program[next];
        next += 1;
        let skip = |is_true: bool| usize::from(if is_true { jt } else { jf });
        match code {
            0x20 => accumulator = call.word(k),
            0x54 => accumulator &= k,
            0x05 => next += usize::try_from(k).expect("it is small"),
            0x15 => next += skip(accumulator == k),
            0x25 => next += skip(accumulator > k),
            0x35 => next += skip(accumulator >= k),
            0x06 => return k,
            _ => panic!("an instruction of an unknown kind {code:#x}"),
        }
    }
}

/// Decides about a call by the rules alone, without a program.
fn decide(profile: &Profile, abi: Abi, call: &Call) -> u32 {
    let numbers = syscalls::numbers(abi);
    let number = |rule: &Rule| numbers.get(rule.name.as_str()).copied();
    let last = profile.rules.iter().filter_map(number).max();
    if abi == Abi::X86_64 && call.number >= 0x4000_0000 {
        return ENOSYS;
    }
    if !profile.default.is_permissive() && last.is_some_and(|last| call.number > last) {
        return ENOSYS;
    }
    let of_call = profile
        .rules
        .iter()
        .filter(|rule| number(rule) == Some(call.number) && rule.action != profile.default);
    let mut rules: Vec<_> = of_call.collect();
    rules.sort_by_key(|rule| (!rule.conditions.is_empty(), rule.action.rank()));
    let decided = rules.iter().find(|rule| {
        let mut conditions = rule.conditions.iter();
        conditions.all(|condition| holds(condition, abi, call))
    });
    decided.map_or(profile.default, |rule| rule.action).number()
}

fn holds(condition: &Condition, abi: Abi, call: &Call) -> bool {
    let width = if abi == Abi::X86 {
        u64::from(u32::MAX)
    } else {
        u64::MAX
    };
    let index = usize::try_from(condition.argument).expect("it is small");
    let argument = call.arguments[index] & width;
    let value = condition.value & width;
    match condition.comparison {
        Comparison::Less => argument < value,
        Comparison::LessOrEqual => argument <= value,
        Comparison::Equal => argument == value,
        Comparison::NotEqual => argument != value,
        Comparison::GreaterOrEqual => argument >= value,
        Comparison::Greater => argument > value,
        Comparison::MaskedEqual(mask) => argument & mask == value & mask,
    }
}

fn rule(name: &str, action: u32, conditions: Vec<Condition>) -> Rule {
    Rule {
        name: name.to_owned(),
        action: Action::from_number(action),
        conditions,
    }
}

#[test]
fn a_call_without_a_rule_gets_the_default() {
    let profile = Profile {
        default: Action::from_number(EPERM),
        rules: vec![rule("read", ALLOW, vec![]), rule("close", ALLOW, vec![])],
    };
    let program = compile(&profile, &[Abi::X86_64]);
    let result = |abi, name| run(&program, &Call::new(abi, name, [0; 6]));
    assert_eq!(result(Abi::X86_64, "read"), ALLOW);
    assert_eq!(result(Abi::X86_64, "open"), EPERM);
    assert_eq!(result(Abi::X86_64, "close"), ALLOW);
    assert_eq!(result(Abi::X86_64, "mmap"), ENOSYS, "it is above all rules");
    assert_eq!(
        result(Abi::X86, "read"),
        KILL_PROCESS,
        "it is of another interface"
    );
    let mut x32 = Call::new(Abi::X86_64, "read", [0; 6]);
    x32.number |= 0x4000_0000;
    assert_eq!(run(&program, &x32), ENOSYS);
}

#[test]
fn a_large_profile_stays_within_the_limit_of_the_kernel() {
    let names = syscalls::names();
    let condition = Condition {
        argument: 0,
        comparison: Comparison::MaskedEqual(0x7e02_0000),
        value: 0,
    };
    let rules = names
        .iter()
        .enumerate()
        .map(|(index, name)| match index % 4 {
            0 => rule(name, LOG, vec![]),
            1 => rule(name, ALLOW, vec![condition]),
            _ => rule(name, ALLOW, vec![]),
        });
    let profile = Profile {
        default: Action::from_number(EPERM),
        rules: rules.collect(),
    };
    let abis = [Abi::X86_64, Abi::X86];
    let program = compile(&profile, &abis);
    assert!(program.len() <= 4096, "{} instructions", program.len());
    for abi in abis {
        for name in syscalls::numbers(abi).keys() {
            let call = Call::new(abi, name, [0x0200_0000, 0, 0, 0, 0, 0]);
            assert_eq!(run(&program, &call), decide(&profile, abi, &call), "{name}");
        }
    }
}

fn comparisons() -> impl Strategy<Value = Comparison> {
    prop_oneof![
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual),
        Just(Comparison::Equal),
        Just(Comparison::NotEqual),
        Just(Comparison::GreaterOrEqual),
        Just(Comparison::Greater),
        numbers().prop_map(Comparison::MaskedEqual),
    ]
}

/// Numbers whose halves meet those of others often.
fn numbers() -> impl Strategy<Value = u64> {
    let half = prop_oneof![Just(0), Just(1), Just(2), Just(u32::MAX), any::<u32>()];
    (half.clone(), half).prop_map(|(low, high)| (u64::from(high) << 32) | u64::from(low))
}

fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let condition = (0_u32..6, comparisons(), numbers());
    let condition = condition.prop_map(|(argument, comparison, value)| Condition {
        argument,
        comparison,
        value,
    });
    prop::collection::vec(condition, 0..4).prop_map(|mut conditions| {
        conditions.sort_by_key(|condition| condition.argument);
        conditions.dedup_by_key(|condition| condition.argument);
        conditions
    })
}

fn profiles() -> impl Strategy<Value = Profile> {
    let action = || prop::sample::select(vec![ALLOW, LOG, EPERM, ENOSYS, KILL_PROCESS, 0]);
    let name = prop::sample::select(vec![
        "read",
        "write",
        "open",
        "clone",
        "personality",
        "clone3",
    ]);
    let rules = prop::collection::vec((name, action(), conditions()), 0..12);
    (action(), rules).prop_map(|(default, rules)| Profile {
        default: Action::from_number(default),
        rules: rules
            .into_iter()
            .map(|(name, action, conditions)| rule(name, action, conditions))
            .collect(),
    })
}

proptest! {
    #[test]
    fn a_program_decides_as_its_rules_do(
        profile in profiles(),
        name in prop::sample::select(vec!["read", "write", "open", "clone", "personality", "clone3"]),
        arguments in prop::array::uniform6(numbers()),
    ) {
        let abis = [Abi::X86_64, Abi::X86];
        let program = compile(&profile, &abis);
        for abi in abis {
            // The kernel gives a program of 32 bits arguments without an upper half.
            let arguments = match abi {
                Abi::X86 => arguments.map(|argument| argument & u64::from(u32::MAX)),
                _ => arguments,
            };
            let call = Call::new(abi, name, arguments);
            prop_assert_eq!(run(&program, &call), decide(&profile, abi, &call));
        }
    }
}
