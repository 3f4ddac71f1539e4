/// The figures of a control group, named as its files and their lines. Those that could not be read are `None`, and so
/// is a limit of `max`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of processes and threads.
    pub pids_current: Option<u64>,
    /// The most processes and threads.
    pub pids_max: Option<u64>,
    /// The time of processors, in microseconds.
    pub cpu_usage_us: Option<u64>,
    /// The part of that in programs, in microseconds.
    pub cpu_user_us: Option<u64>,
    /// The part of that in the kernel, in microseconds.
    pub cpu_system_us: Option<u64>,
    /// The number of periods of `cpu.max`.
    pub cpu_periods: Option<u64>,
    /// The number of periods in which the group was stopped.
    pub cpu_throttled_periods: Option<u64>,
    /// The time for which the group was stopped, in microseconds.
    pub cpu_throttled_us: Option<u64>,
    /// The memory, in bytes.
    pub memory_current: Option<u64>,
    /// The most memory, in bytes.
    pub memory_max: Option<u64>,
    /// The swap space, in bytes.
    pub memory_swap_current: Option<u64>,
    /// The most swap space, in bytes.
    pub memory_swap_max: Option<u64>,
    /// Memory of programs that no file has, in bytes.
    pub memory_anon: Option<u64>,
    /// Cached files, in bytes.
    pub memory_file: Option<u64>,
    /// Memory of the kernel for the group, in bytes.
    pub memory_slab: Option<u64>,
    /// Cached files that were not used lately, in bytes.
    pub memory_inactive_file: Option<u64>,
    /// The number of page faults.
    pub memory_page_faults: Option<u64>,
    /// The number of page faults that waited for a disk.
    pub memory_major_page_faults: Option<u64>,
    /// The number of times that the limit could not be kept.
    pub memory_oom: Option<u64>,
    /// The number of processes that were killed for it.
    pub memory_oom_kill: Option<u64>,
    /// Reads and writes; `None` if no disk was used.
    pub io: Option<IoFigures>,
}

/// Reads and writes of all disks together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoFigures {
    /// The bytes read.
    pub read_bytes: u64,
    /// The bytes written.
    pub written_bytes: u64,
    /// The number of reads.
    pub reads: u64,
    /// The number of writes.
    pub writes: u64,
}

impl Stats {
    /// Reads the figures from the files of a group, which `file` returns by name.
    pub(super) fn read(file: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| file(name)?.trim_end().parse().ok();
        let cpu = file("cpu.stat").unwrap_or_default();
        let memory = file("memory.stat").unwrap_or_default();
        let events = file("memory.events").unwrap_or_default();
        Self {
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
            io: file("io.stat").and_then(|text| disks(&text)),
        }
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
        let stats = Stats::read(|file| {
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
        let expected = Stats {
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
            io: Some(IoFigures {
                read_bytes: 2,
                written_bytes: 2,
                reads: 3,
                writes: 4,
            }),
            ..Stats::default()
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
