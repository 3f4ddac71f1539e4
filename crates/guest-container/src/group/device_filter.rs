#![expect(unsafe_code, reason = "bpf(2) has no safe form")]
//! The access of a group to devices, as a program of eBPF (include/uapi/linux/bpf.h): version 2 of control groups has
//! no files for it.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use container_plan::{DeviceKind, DeviceRule, STANDARD_DEVICES};

/// `struct bpf_insn`, with both registers in one byte.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// The attributes of `BPF_PROG_LOAD`: the beginning of `union bpf_attr`.
#[repr(C)]
#[derive(Default)]
struct Load {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buffer: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

/// The attributes of `BPF_PROG_ATTACH`.
#[repr(C)]
#[derive(Default)]
struct Attach {
    target: u32,
    program: u32,
    attach_type: u32,
    flags: u32,
}

/// Commands of bpf(2).
const PROG_LOAD: libc::c_int = 5;
const PROG_ATTACH: libc::c_int = 8;
/// `BPF_PROG_TYPE_CGROUP_DEVICE`.
const CGROUP_DEVICE_PROGRAM: u32 = 15;
/// `BPF_CGROUP_DEVICE`.
const CGROUP_DEVICE: u32 = 6;
/// `BPF_F_ALLOW_MULTI`: groups in this one may have programs, too, and all have to allow an access.
const ALLOW_MULTI: u32 = 2;
/// No helper of the kernel is called, so the license is of no matter.
const LICENSE: &CStr = c"Apache-2.0";

/// `BPF_DEVCG_DEV_BLOCK`, `BPF_DEVCG_DEV_CHAR`.
const BLOCK: i32 = 1;
const CHARACTER: i32 = 2;
/// `BPF_DEVCG_ACC_MKNOD`, `BPF_DEVCG_ACC_READ`, `BPF_DEVCG_ACC_WRITE`.
const MKNOD: i32 = 1;
const READ: i32 = 2;
const WRITE: i32 = 4;

/// Registers: the result, a scratch register that has the context at first, and what the context says.
const RESULT: u8 = 0;
const SCRATCH: u8 = 1;
const KIND: u8 = 2;
const ACCESS: u8 = 3;
const MAJOR: u8 = 4;
const MINOR: u8 = 5;

/// Operations: loads of 32 bits, arithmetic of 32 bits, jumps that compare 32 bits.
const LOAD: u8 = 0x61;
const AND: u8 = 0x54;
const SHIFT_RIGHT: u8 = 0x74;
const SET: u8 = 0xb4;
const COPY: u8 = 0xbc;
const JUMP_IF_DIFFERENT: u8 = 0x56;
const JUMP_IF_DIFFERENT_REGISTERS: u8 = 0x5e;
const JUMP_IF_EQUAL: u8 = 0x16;
const EXIT: u8 = 0x95;

/// Limits a group to the devices that the rules allow: the last one that matches decides, and access that none matches
/// is allowed. Every container keeps its standard devices and its terminals, and may make nodes, as with runc.
pub(super) fn put_on(group: BorrowedFd<'_>, rules: &[DeviceRule]) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    let rules: Vec<_> = rules.iter().cloned().chain(kept()).collect();
    attach(group, &load(&program(&rules))?)
}

/// Returns the rules that come after those of the plan.
fn kept() -> impl Iterator<Item = DeviceRule> {
    let rule = |kind: DeviceKind, major, minor, access: &str| DeviceRule {
        is_allowed: true,
        kind: kind.into(),
        major,
        minor,
        access: access.to_owned(),
    };
    let standard = STANDARD_DEVICES.iter().map(move |device| {
        let (major, minor) = (Some(device.major), Some(device.minor));
        rule(DeviceKind::Character, major, minor, "rwm")
    });
    let others = [
        // Nodes are of no use without a rule for the device.
        rule(DeviceKind::Any, None, None, "m"),
        // `/dev/console`, `/dev/ptmx` and terminals.
        rule(DeviceKind::Character, Some(5), Some(1), "rwm"),
        rule(DeviceKind::Character, Some(5), Some(2), "rwm"),
        rule(DeviceKind::Character, Some(136), None, "rwm"),
    ];
    standard.chain(others)
}

/// Returns the program: the context's values in registers, then a block for each rule, the last one first.
fn program(rules: &[DeviceRule]) -> Vec<Instruction> {
    let mut program = vec![
        // `struct bpf_cgroup_dev_ctx`: the access above the kind in one field, then major and minor.
        two(LOAD, KIND, SCRATCH, 0),
        one(AND, KIND, 0xffff),
        two(LOAD, ACCESS, SCRATCH, 0),
        one(SHIFT_RIGHT, ACCESS, 16),
        two(LOAD, MAJOR, SCRATCH, 4),
        two(LOAD, MINOR, SCRATCH, 8),
    ];
    for rule in rules.iter().rev() {
        program.extend(block(rule));
    }
    program.extend(end(true));
    program
}

/// Returns the block of a rule, which ends the program if the rule matches. A rule that allows has to allow all of an
/// access, and one that denies denies any part.
fn block(rule: &DeviceRule) -> Vec<Instruction> {
    let mut tests = Vec::new();
    match rule.kind() {
        DeviceKind::Any => {}
        DeviceKind::Character => tests.push(one(JUMP_IF_DIFFERENT, KIND, CHARACTER)),
        DeviceKind::Block => tests.push(one(JUMP_IF_DIFFERENT, KIND, BLOCK)),
    }
    tests.push(two(COPY, SCRATCH, ACCESS, 0));
    tests.push(one(AND, SCRATCH, access(&rule.access)));
    tests.push(if rule.is_allowed {
        two(JUMP_IF_DIFFERENT_REGISTERS, SCRATCH, ACCESS, 0)
    } else {
        one(JUMP_IF_EQUAL, SCRATCH, 0)
    });
    for (register, wanted) in [(MAJOR, rule.major), (MINOR, rule.minor)] {
        if let Some(wanted) = wanted {
            tests.push(one(JUMP_IF_DIFFERENT, register, wanted.cast_signed()));
        }
    }
    let end = end(rule.is_allowed);
    let length = tests.len() + end.len();
    for (index, test) in tests.iter_mut().enumerate() {
        let is_jump = matches!(
            test.code,
            JUMP_IF_DIFFERENT | JUMP_IF_DIFFERENT_REGISTERS | JUMP_IF_EQUAL
        );
        if is_jump {
            // A block has less than ten instructions.
            test.offset = i16::try_from(length - index - 1).unwrap_or(0);
        }
    }
    tests.extend(end);
    tests
}

fn end(is_allowed: bool) -> [Instruction; 2] {
    [one(SET, RESULT, is_allowed.into()), one(EXIT, RESULT, 0)]
}

fn access(letters: &str) -> i32 {
    letters.bytes().fold(0, |bits, letter| match letter {
        b'r' => bits | READ,
        b'w' => bits | WRITE,
        b'm' => bits | MKNOD,
        _ => bits,
    })
}

/// Returns an instruction for a register and a number.
fn one(code: u8, register: u8, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers: register,
        offset: 0,
        immediate,
    }
}

/// Returns an instruction for two registers, and an offset in memory.
fn two(code: u8, to: u8, from: u8, offset: i16) -> Instruction {
    Instruction {
        code,
        registers: from << 4 | to,
        offset,
        immediate: 0,
    }
}

/// Loads a program, which the kernel checks.
fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let count = u32::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut attributes = Load {
        program_type: CGROUP_DEVICE_PROGRAM,
        instruction_count: count,
        instructions: address(program.as_ptr()),
        license: address(LICENSE.as_ptr()),
        attach_type: CGROUP_DEVICE,
        ..Load::default()
    };
    // SAFETY: the attributes point to the instructions, as many as they say, and to a string that ends with a NUL. All
    // live until the call returns.
    let file = unsafe { call(PROG_LOAD, &mut attributes) }?;
    // SAFETY: the kernel has just opened the descriptor for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Puts a program on a group, which keeps it.
fn attach(group: BorrowedFd<'_>, program: &OwnedFd) -> io::Result<()> {
    let mut attributes = Attach {
        target: group.as_raw_fd().cast_unsigned(),
        program: program.as_raw_fd().cast_unsigned(),
        attach_type: CGROUP_DEVICE,
        flags: ALLOW_MULTI,
    };
    // SAFETY: the attributes have numbers alone.
    unsafe { call(PROG_ATTACH, &mut attributes) }.map(drop)
}

/// Makes a call of bpf(2).
///
/// # Safety
///
/// The attributes are those of the command, and what they point to lives until the call returns.
unsafe fn call<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the structure has the size that is given; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            size_of::<T>(),
        )
    };
    match libc::c_int::try_from(result) {
        Ok(result) if result >= 0 => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns an address as the attributes have it.
fn address<T>(pointer: *const T) -> u64 {
    pointer.addr() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(is_allowed: bool, kind: DeviceKind, major: Option<u32>, access: &str) -> DeviceRule {
        DeviceRule {
            is_allowed,
            kind: kind.into(),
            major,
            minor: None,
            access: access.to_owned(),
        }
    }

    /// Runs a program as the kernel does. Returns true if it allows the access.
    fn run(program: &[Instruction], kind: i32, access: i32, major: i32, minor: i32) -> bool {
        let context = [access << 16 | kind, major, minor];
        let mut registers = [0; 6];
        let mut at = 0;
        loop {
            let each = program[at];
            let to = usize::from(each.registers & 0xf);
            let from = usize::from(each.registers >> 4);
            let mut next = at + 1;
            let jump = next + usize::try_from(each.offset).expect("forwards");
            match each.code {
                LOAD => registers[to] = context[usize::try_from(each.offset / 4).expect("a field")],
                AND => registers[to] &= each.immediate,
                SHIFT_RIGHT => registers[to] >>= each.immediate,
                SET => registers[to] = each.immediate,
                COPY => registers[to] = registers[from],
                JUMP_IF_DIFFERENT if registers[to] != each.immediate => next = jump,
                JUMP_IF_DIFFERENT_REGISTERS if registers[to] != registers[from] => next = jump,
                JUMP_IF_EQUAL if registers[to] == each.immediate => next = jump,
                JUMP_IF_DIFFERENT | JUMP_IF_DIFFERENT_REGISTERS | JUMP_IF_EQUAL => {}
                EXIT => return registers[0] != 0,
                code => panic!("no instruction {code:#x}"),
            }
            at = next;
        }
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        let rules = [
            rule(false, DeviceKind::Any, None, "rwm"),
            rule(true, DeviceKind::Block, Some(8), "rw"),
            rule(false, DeviceKind::Block, Some(8), "w"),
        ];
        let program = program(&rules);
        assert!(run(&program, BLOCK, READ, 8, 0));
        assert!(!run(&program, BLOCK, WRITE, 8, 0));
        assert!(!run(&program, BLOCK, READ | WRITE, 8, 0));
        assert!(!run(&program, BLOCK, MKNOD, 8, 0));
        assert!(!run(&program, CHARACTER, READ, 8, 0));
        assert!(!run(&program, BLOCK, READ, 9, 0));
    }

    #[test]
    fn what_no_rule_matches_is_allowed() {
        let program = program(&[rule(false, DeviceKind::Character, Some(1), "w")]);
        assert!(run(&program, CHARACTER, READ, 1, 3));
        assert!(!run(&program, CHARACTER, WRITE, 1, 3));
        assert!(run(&program, BLOCK, WRITE, 1, 3));
    }

    #[test]
    fn a_container_without_devices_keeps_the_standard_ones() {
        let denied = rule(false, DeviceKind::Any, None, "rwm");
        let rules: Vec<_> = [denied].into_iter().chain(kept()).collect();
        let program = program(&rules);
        assert!(run(&program, CHARACTER, READ | WRITE, 1, 3));
        assert!(run(&program, CHARACTER, READ | WRITE, 136, 7));
        assert!(run(&program, BLOCK, MKNOD, 254, 16));
        assert!(!run(&program, BLOCK, READ, 254, 16));
        assert!(!run(&program, CHARACTER, READ, 1, 1));
    }
}
