use prost::Message;

/// The bytes of an instruction.
const INSTRUCTION_BYTES: usize = 8;

/// A filter of system calls, for seccomp(2) with `SECCOMP_SET_MODE_FILTER`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SeccompFilter {
    /// The program: for each instruction a `struct sock_filter`, little-endian.
    #[prost(bytes = "vec", tag = "1")]
    pub program: Vec<u8>,
    /// True for `SECCOMP_FILTER_FLAG_LOG`: actions but `allow` are logged.
    #[prost(bool, tag = "2")]
    pub is_logged: bool,
    /// True for `SECCOMP_FILTER_FLAG_SPEC_ALLOW`: speculative store bypass is not mitigated.
    #[prost(bool, tag = "3")]
    pub allows_speculation: bool,
}

/// `struct sock_filter` (`include/uapi/linux/filter.h`): an instruction of classic BPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation, `BPF_*` of `include/uapi/linux/bpf_common.h`.
    pub code: u16,
    /// The instructions that are skipped if a comparison is true.
    pub jt: u8,
    /// The instructions that are skipped if a comparison is false.
    pub jf: u8,
    /// The operand: a number, an offset or a distance.
    pub k: u32,
}

impl SeccompFilter {
    /// Returns a filter of these instructions, without flags.
    #[must_use]
    pub fn new(instructions: &[Instruction]) -> Self {
        let bytes = instructions.iter().flat_map(|instruction| {
            let [code_low, code_high] = instruction.code.to_le_bytes();
            let [k0, k1, k2, k3] = instruction.k.to_le_bytes();
            [
                code_low,
                code_high,
                instruction.jt,
                instruction.jf,
                k0,
                k1,
                k2,
                k3,
            ]
        });
        Self {
            program: bytes.collect(),
            ..Self::default()
        }
    }

    /// Returns the instructions. Bytes after the last whole one, which a valid plan does not have, are left out.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction> + '_ {
        let (whole, _) = self.program.as_chunks::<INSTRUCTION_BYTES>();
        whole.iter().map(
            |&[code_low, code_high, jt, jf, k0, k1, k2, k3]| Instruction {
                code: u16::from_le_bytes([code_low, code_high]),
                jt,
                jf,
                k: u32::from_le_bytes([k0, k1, k2, k3]),
            },
        )
    }

    /// Returns the number of instructions; `None` if the program has a part of one.
    pub(crate) fn length(&self) -> Option<usize> {
        let (whole, rest) = self.program.as_chunks::<INSTRUCTION_BYTES>();
        rest.is_empty().then_some(whole.len())
    }
}
