//! The compiler: the numbers of calls are searched as a tree, and conditions are tested in its leaves.
//!
//! ```text
//! load the interface; for each one: its number, or skip the block
//!   load the call; below the middle: the left half, otherwise the right half
//!     one run of calls: return its action
//!     one call with conditions: for each rule its tests and the return of its action; return the default action
//! return KILL_PROCESS
//! ```

use std::collections::BTreeMap;

use container_plan::Instruction;

use super::action::Action;
use super::profile::{Comparison, Condition, Profile, Rule};
use super::{Abi, syscalls};

/// `BPF_LD | BPF_W | BPF_ABS`: a word of `struct seccomp_data` becomes the accumulator.
const LOAD: u16 = 0x20;
/// `BPF_ALU | BPF_AND | BPF_K`.
const AND: u16 = 0x54;
/// `BPF_JMP | BPF_JA`: the next `k` instructions are skipped.
const JUMP: u16 = 0x05;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
const EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JGT | BPF_K`.
const GREATER: u16 = 0x25;
/// `BPF_JMP | BPF_JGE | BPF_K`.
const GREATER_OR_EQUAL: u16 = 0x35;
/// `BPF_RET | BPF_K`: `k` is the result.
const RETURN: u16 = 0x06;

/// The offset of `nr` in `struct seccomp_data` (`include/uapi/linux/seccomp.h`).
const CALL_OFFSET: u32 = 0;
/// The offset of `arch`.
const ABI_OFFSET: u32 = 4;
/// The offset of `args`, little-endian numbers of 64 bits.
const ARGUMENTS_OFFSET: u32 = 16;
/// `__X32_SYSCALL_BIT`: the number of a call of the x32 interface, which guests do not have.
const X32_BIT: u32 = 0x4000_0000;

/// A run of calls, which ends where the next one begins.
struct Run<'a> {
    first: u32,
    leaf: Leaf<'a>,
}

/// The decision about a run of calls.
enum Leaf<'a> {
    Return(Action),
    /// The rules of one call, the strictest first.
    Rules(Vec<&'a Rule>),
}

/// The target of a jump in a test.
#[derive(Clone, Copy)]
enum Target {
    Next,
    /// The end of the test: the condition holds.
    Holds,
    /// The end of the rule: the condition does not hold.
    Fails,
}

/// A step of a test: an instruction whose jumps are not placed yet.
enum Step {
    Load(u32),
    And(u32),
    Compare(u16, u32, Target, Target),
}

/// Compiles a profile for the interfaces of a guest.
pub(super) fn compile(profile: &Profile, abis: &[Abi]) -> Vec<Instruction> {
    let mut program = vec![operation(LOAD, ABI_OFFSET)];
    for abi in abis {
        let block = compile_abi(profile, *abi);
        program.push(branch(EQUAL, abi.audit_number(), 1, 0));
        program.push(jump_over(&block));
        program.extend(block);
    }
    program.push(return_of(Action::KILL_PROCESS));
    program
}

fn compile_abi(profile: &Profile, abi: Abi) -> Vec<Instruction> {
    let mut block = vec![operation(LOAD, CALL_OFFSET)];
    if abi == Abi::X86_64 {
        block.push(branch(GREATER_OR_EQUAL, X32_BIT, 0, 1));
        block.push(return_of(Action::NO_SUCH_CALL));
    }
    block.extend(search(&runs(profile, abi), profile.default, abi));
    block
}

/// Returns all numbers of calls as runs, in ascending order.
fn runs(profile: &Profile, abi: Abi) -> Vec<Run<'_>> {
    let numbers = syscalls::numbers(abi);
    let mut calls: BTreeMap<u32, Vec<&Rule>> = BTreeMap::new();
    let mut last = None;
    for rule in &profile.rules {
        let number = numbers.get(rule.name.as_str()).copied();
        last = last.max(number);
        // A rule for the default action says nothing.
        if let Some(number) = number
            && rule.action != profile.default
        {
            calls.entry(number).or_default().push(rule);
        }
    }
    let mut runs = Vec::new();
    let mut next = 0;
    for (number, rules) in calls {
        if next < number {
            push(&mut runs, next, Leaf::Return(profile.default));
        }
        push(&mut runs, number, leaf(rules));
        next = number + 1;
    }
    // As in runc: a call that is younger than the profile does not exist. libc then uses an older
    // one, while EPERM would make it fail.
    let unknown = last
        .filter(|_| !profile.default.is_permissive())
        .map(|last| last + 1);
    if unknown != Some(next) {
        push(&mut runs, next, Leaf::Return(profile.default));
    }
    if let Some(first) = unknown {
        push(&mut runs, first, Leaf::Return(Action::NO_SUCH_CALL));
    }
    runs
}

/// Adds a run, or extends the last one if it has the same action.
fn push<'a>(runs: &mut Vec<Run<'a>>, first: u32, leaf: Leaf<'a>) {
    if let (
        Some(Run {
            leaf: Leaf::Return(before),
            ..
        }),
        Leaf::Return(action),
    ) = (runs.last(), &leaf)
        && before == action
    {
        return;
    }
    runs.push(Run { first, leaf });
}

fn leaf(mut rules: Vec<&Rule>) -> Leaf<'_> {
    rules.sort_by_key(|rule| rule.action.rank());
    match rules.iter().find(|rule| rule.conditions.is_empty()) {
        Some(rule) => Leaf::Return(rule.action),
        None => Leaf::Rules(rules),
    }
}

/// Returns the instructions that decide among runs, with the number of the call in the accumulator.
fn search(runs: &[Run<'_>], default: Action, abi: Abi) -> Vec<Instruction> {
    match runs {
        [] => vec![return_of(default)],
        [run] => match &run.leaf {
            Leaf::Return(action) => vec![return_of(*action)],
            Leaf::Rules(rules) => test_rules(rules, default, abi),
        },
        _ => {
            let (left, right) = runs.split_at(runs.len() / 2);
            let middle = right.first().map_or(0, |run| run.first);
            let left = search(left, default, abi);
            let mut code = match u8::try_from(left.len()) {
                Ok(length) => vec![branch(GREATER_OR_EQUAL, middle, length, 0)],
                Err(_) => vec![branch(GREATER_OR_EQUAL, middle, 0, 1), jump_over(&left)],
            };
            code.extend(left);
            code.extend(search(right, default, abi));
            code
        }
    }
}

fn test_rules(rules: &[&Rule], default: Action, abi: Abi) -> Vec<Instruction> {
    let mut code = Vec::new();
    for rule in rules {
        let mut after = vec![return_of(rule.action)];
        for condition in rule.conditions.iter().rev() {
            let mut test = place(&steps(condition, abi), after.len());
            test.append(&mut after);
            after = test;
        }
        code.append(&mut after);
    }
    code.push(return_of(default));
    code
}

/// Returns the steps of a test, which compares the upper half first.
fn steps(condition: &Condition, abi: Abi) -> Vec<Step> {
    use Target::{Fails, Holds, Next};

    let mask = match condition.comparison {
        Comparison::MaskedEqual(mask) => mask,
        _ => u64::MAX,
    };
    // An argument of 32 bits has zeros above, and libseccomp cuts what it is compared with.
    let width = if abi.is_32_bit() {
        u64::from(u32::MAX)
    } else {
        u64::MAX
    };
    let [mask_low, mask_high] = halves(mask & width);
    let [low, high] = halves(condition.value & mask & width);
    let offset = ARGUMENTS_OFFSET + 8 * condition.argument;
    let upper = [Step::Load(offset + 4), Step::And(mask_high)];
    let lower = [Step::Load(offset), Step::And(mask_low)];
    let ordered = |above, below, code, holds, fails| {
        let comparisons = [
            Step::Compare(GREATER, high, above, Next),
            Step::Compare(EQUAL, high, Next, below),
        ];
        (
            Vec::from(comparisons),
            Step::Compare(code, low, holds, fails),
        )
    };
    let (middle, last) = match condition.comparison {
        Comparison::Equal | Comparison::MaskedEqual(_) => (
            vec![Step::Compare(EQUAL, high, Next, Fails)],
            Step::Compare(EQUAL, low, Holds, Fails),
        ),
        Comparison::NotEqual => (
            vec![Step::Compare(EQUAL, high, Next, Holds)],
            Step::Compare(EQUAL, low, Fails, Holds),
        ),
        Comparison::Greater => ordered(Holds, Fails, GREATER, Holds, Fails),
        Comparison::GreaterOrEqual => ordered(Holds, Fails, GREATER_OR_EQUAL, Holds, Fails),
        Comparison::Less => ordered(Fails, Holds, GREATER_OR_EQUAL, Fails, Holds),
        Comparison::LessOrEqual => ordered(Fails, Holds, GREATER, Fails, Holds),
    };
    let steps = upper.into_iter().chain(middle).chain(lower);
    steps
        .chain([last])
        .filter(|step| !matches!(step, Step::And(u32::MAX)))
        .collect()
}

/// Places the jumps of a test that `after` instructions of its rule follow.
fn place(steps: &[Step], after: usize) -> Vec<Instruction> {
    steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let rest = steps.len() - index - 1;
            let distance = |target| {
                let distance = match target {
                    Target::Next => 0,
                    Target::Holds => rest,
                    Target::Fails => rest + after,
                };
                // 8 steps a condition, and a condition an argument.
                u8::try_from(distance).expect("a rule has at most 6 conditions")
            };
            match *step {
                Step::Load(offset) => operation(LOAD, offset),
                Step::And(mask) => operation(AND, mask),
                Step::Compare(code, k, holds, fails) => {
                    branch(code, k, distance(holds), distance(fails))
                }
            }
        })
        .collect()
}

fn halves(number: u64) -> [u32; 2] {
    let [b0, b1, b2, b3, b4, b5, b6, b7] = number.to_le_bytes();
    [
        u32::from_le_bytes([b0, b1, b2, b3]),
        u32::from_le_bytes([b4, b5, b6, b7]),
    ]
}

fn return_of(action: Action) -> Instruction {
    operation(RETURN, action.number())
}

/// Returns a jump to the end of a block.
fn jump_over(block: &[Instruction]) -> Instruction {
    // Conditions are bounded by the bytes of a specification, so no block has 2^32 instructions.
    operation(JUMP, u32::try_from(block.len()).unwrap_or(u32::MAX))
}

fn operation(code: u16, k: u32) -> Instruction {
    branch(code, k, 0, 0)
}

fn branch(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}
