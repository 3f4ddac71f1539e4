//! A machine's processors and memory as users type them.

use msb_vmm::MEMORY_MIN_MIB;

use msb_terminal::output;

/// The most processors of a machine.
const CPUS_MAX: u8 = u8::MAX;

/// Parses a whole number of processors.
pub(super) fn parse_cpus(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(cpus @ 1..=CPUS_MAX) => Ok(cpus),
        _ => Err(format!(
            "write a whole number of processors from 1 to {CPUS_MAX}"
        )),
    }
}

/// Parses the size of a guest's memory, and returns it in MiB.
pub(super) fn parse_memory(text: &str) -> Result<u32, String> {
    let bytes = output::parse_size(text)?;
    let mib = u32::try_from(bytes >> 20).ok();
    mib.filter(|&mib| mib >= MEMORY_MIN_MIB)
        .ok_or_else(|| format!("write a size from {MEMORY_MIN_MIB}M to 4096T"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_whole_and_memory_is_enough_to_boot() {
        assert_eq!((parse_cpus("1"), parse_cpus("255")), (Ok(1), Ok(255)));
        for text in ["0", "256", "1000", "1.5", "0.5", "-1", "", "two"] {
            let refused = parse_cpus(text);
            assert_eq!(
                refused,
                Err("write a whole number of processors from 1 to 255".to_owned()),
                "{text}"
            );
        }
        assert_eq!(parse_memory("64M"), Ok(64));
        assert_eq!(parse_memory("1.5g"), Ok(1536));
        for text in ["8m", "63.9M", "0", "5000T", "much"] {
            assert!(parse_memory(text).is_err(), "{text}");
        }
    }
}
