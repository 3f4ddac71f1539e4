//! The figures of a control group, from the files of version 2.

use msb_agent_protocol::v1::ContainerStatsReply;

/// Reads and writes of all disks together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct IoFigures {
    read_bytes: u64,
    written_bytes: u64,
    reads: u64,
    writes: u64,
}

/// Reads the figures from the files of a group, which `file` returns by name. Those that cannot be read are missing,
/// and so is a limit of `max`.
pub(super) fn read(file: impl Fn(&str) -> Option<String>) -> ContainerStatsReply {
    let number = |name| file(name)?.trim_end().parse().ok();
    let cpu = file("cpu.stat").unwrap_or_default();
    let memory = file("memory.stat").unwrap_or_default();
    let events = file("memory.events").unwrap_or_default();
    let io = file("io.stat").and_then(|text| disks(&text));
    ContainerStatsReply {
        pids_current: number("pids.current"),
        pids_max: number("pids.max"),
        cpu_usage_us: line(&cpu, "usage_usec"),
        cpu_user_us: line(&cpu, "user_usec"),
        cpu_system_us: line(&cpu, "system_usec"),
        cpu_periods: line(&cpu, "nr_periods"),
        cpu_throttled_periods: line(&cpu, "nr_throttled"),
        cpu_throttled_us: line(&cpu, "throttled_usec"),
        memory_current: number("memory.current"),
        memory_max: number("memory.max"),
        memory_swap_current: number("memory.swap.current"),
        memory_swap_max: number("memory.swap.max"),
        memory_anon: line(&memory, "anon"),
        memory_file: line(&memory, "file"),
        memory_slab: line(&memory, "slab"),
        memory_inactive_file: line(&memory, "inactive_file"),
        memory_page_faults: line(&memory, "pgfault"),
        memory_major_page_faults: line(&memory, "pgmajfault"),
        memory_oom: line(&events, "oom"),
        memory_oom_kill: line(&events, "oom_kill"),
        io_read_bytes: io.map(|io| io.read_bytes),
        io_written_bytes: io.map(|io| io.written_bytes),
        io_reads: io.map(|io| io.reads),
        io_writes: io.map(|io| io.writes),
    }
}

/// Returns the number of the line `NAME NUMBER`.
fn line(text: &str, name: &str) -> Option<u64> {
    let rest = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
    text.lines().find_map(rest)?.trim_end().parse().ok()
}

/// Sums the lines of `io.stat`: `MAJOR:MINOR rbytes=N wbytes=N rios=N wios=N dbytes=N dios=N`.
fn disks(text: &str) -> Option<IoFigures> {
    let mut sum = None;
    for word in text.split_whitespace() {
        let Some((name, number)) = word.split_once('=') else {
            continue;
        };
        let number: u64 = number.parse().unwrap_or(0);
        let figures: &mut IoFigures = sum.get_or_insert_default();
        let figure = match name {
            "rbytes" => &mut figures.read_bytes,
            "wbytes" => &mut figures.written_bytes,
            "rios" => &mut figures.reads,
            "wios" => &mut figures.writes,
            _ => continue,
        };
        *figure = figure.saturating_add(number);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_lines_with_their_names() {
        let stats = read(|file| {
            let text = match file {
                "pids.current" => "3\n",
                "pids.max" | "memory.max" => "max\n",
                "cpu.stat" => "usage_usec 7\nuser_usec 5\nsystem_usec 2\nnr_periods 1\n",
                "memory.current" => "4096\n",
                "memory.stat" => "anon 10\nfile 20\nfile_mapped 9\ninactive_file 30\npgfault 4\n",
                "memory.events" => "low 0\noom 2\noom_kill 1\noom_group_kill 0\n",
                "io.stat" => "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16 rbytes=1\n",
                _ => return None,
            };
            Some(text.to_owned())
        });
        let expected = ContainerStatsReply {
            pids_current: Some(3),
            cpu_usage_us: Some(7),
            cpu_user_us: Some(5),
            cpu_system_us: Some(2),
            cpu_periods: Some(1),
            memory_current: Some(4096),
            memory_anon: Some(10),
            memory_file: Some(20),
            memory_inactive_file: Some(30),
            memory_page_faults: Some(4),
            memory_oom: Some(2),
            memory_oom_kill: Some(1),
            io_read_bytes: Some(2),
            io_written_bytes: Some(2),
            io_reads: Some(3),
            io_writes: Some(4),
            ..ContainerStatsReply::default()
        };
        assert_eq!(stats, expected);
    }

    #[test]
    fn sums_of_a_hostile_kernel_do_not_overflow() {
        let text = format!("8:0 rbytes={0}\n8:16 rbytes={0}\n", u64::MAX);
        assert_eq!(disks(&text).expect("figures").read_bytes, u64::MAX);
        assert_eq!(disks("8:0\n"), None);
    }
}
