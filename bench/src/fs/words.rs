use clap::builder::{PossibleValuesParser, TypedValueParser};
use msb_bench_runner::{BenchTarget, CacheState, Line, Lowers, Mounted, Part, Suite};

use super::Outcome;
use crate::report::{Cache, Conditions, Durability, Unit};

/// The suites, in the order in which they run.
const SUITES: [Suite; 10] = [
    Suite::Metadata,
    Suite::Mixed,
    Suite::ReadHeavy,
    Suite::ManyFiles,
    Suite::SingleFile,
    Suite::Git,
    Suite::Database,
    Suite::Package,
    Suite::Snapshots,
    Suite::CopyUp,
];

const NOT_IN_VIRTIOFS: &str =
    "not in virtio-fs: each file that a guest knows there is an open one of the host's user";

/// Returns a suite's name on the command line.
pub(super) const fn name(suite: Suite) -> &'static str {
    match suite {
        Suite::Mixed => "mixed",
        Suite::Metadata => "metadata",
        Suite::ReadHeavy => "read-heavy",
        Suite::ManyFiles => "many-files",
        Suite::SingleFile => "single-file",
        Suite::Git => "git",
        Suite::Database => "database",
        Suite::Package => "package",
        Suite::Snapshots => "snapshots",
        Suite::CopyUp => "copy-up",
    }
}

/// Returns the parser of a suite's name on the command line.
pub(super) fn suites() -> impl TypedValueParser<Value = Suite> {
    PossibleValuesParser::new(SUITES.map(name)).try_map(|word| {
        let mut suites = SUITES.into_iter();
        suites
            .find(|&suite| name(suite) == word)
            .ok_or("no such suite")
    })
}

/// Returns a suite's title.
pub(super) const fn title(suite: Suite) -> &'static str {
    match suite {
        Suite::Mixed => "Fourteen mixed workloads",
        Suite::Metadata => "Seven metadata workloads",
        Suite::ReadHeavy => "A few files, again and again",
        Suite::ManyFiles => "10,000 files in a directory",
        Suite::SingleFile => "One file, requests of 4 KiB",
        Suite::Git => "git",
        Suite::Database => "SQLite",
        Suite::Package => "Installing packages",
        Suite::Snapshots => "Changes on top of snapshots",
        Suite::CopyUp => "First changes of the image's files",
    }
}

/// Returns the state of the caches as one word.
pub(super) const fn cache(cache: CacheState) -> &'static str {
    match cache {
        CacheState::Warm => "warm",
        CacheState::Cold => "cold",
    }
}

/// Returns the conditions of a part's figures. The `first` table also lists what applies to all.
pub(super) fn conditions(
    outcome: &Outcome,
    part: &Part,
    cache: CacheState,
    first: bool,
) -> Conditions {
    let mut notes = Vec::new();
    if first {
        notes.extend(of_all(outcome));
        notes.extend(left_out(outcome, |suite| !has_records(outcome, suite)));
    }
    notes.extend(about(outcome, part.suite));
    notes.extend(failures(outcome, part));
    if cache == CacheState::Warm {
        notes.extend(left_out(outcome, |suite| suite == part.suite));
    }
    Conditions {
        cache: match cache {
            CacheState::Warm => Cache::Warm,
            CacheState::Cold => outcome.cold,
        },
        durability: match part.suite {
            Suite::Metadata | Suite::ReadHeavy => Durability::ReadOnly,
            Suite::Database => Durability::Synced,
            Suite::ManyFiles | Suite::Snapshots => Durability::None,
            Suite::Mixed | Suite::SingleFile | Suite::Git | Suite::Package | Suite::CopyUp => {
                Durability::Mixed
            }
        },
        place: where_(outcome, part),
        notes,
    }
}

fn of_all(outcome: &Outcome) -> Vec<String> {
    let facts = &outcome.facts;
    let mut words = vec![
        format!("kernel {}", facts.kernel),
        format!(
            "rounds: {}, places in turn, timed inside",
            outcome.request.rounds
        ),
        format!(
            "P: {}, {} files",
            outcome.shown(&facts.lower.tree),
            facts.tree_files
        ),
    ];
    if outcome.is_thrown_away {
        words.push("a sandbox with --rm: image and upper sync nothing".to_owned());
    }
    if outcome.has_snapshot {
        words.push("a sandbox with a snapshot: upper is a disk of generations".to_owned());
    }
    words
}

/// Describes the location of each column's files.
fn where_(outcome: &Outcome, part: &Part) -> String {
    let places = outcome.request.places.iter();
    let here = places.filter(|place| part.places.contains(&place.name));
    let words = here.map(|place| format!("{}: {}", place.name, lies(outcome, place)));
    words.collect::<Vec<_>>().join("; ")
}

fn lies(outcome: &Outcome, place: &BenchTarget) -> String {
    let files = match (&place.lower, &place.mounted) {
        (_, Some(Mounted::Disk(disk))) => {
            return format!(
                "P on {}, mounted with nothing over it; read only",
                disk.display()
            );
        }
        (_, Some(Mounted::Overlay(overlay))) => match &overlay.lowers {
            Lowers::Directories(count) => {
                format!("a copy of P in one of {count} lower directories")
            }
            Lowers::Images { extents, .. } => {
                format!("P, as {} layers have it, a mount each", extents.len())
            }
        },
        (Some(_), None) => "P, as the image has it".to_owned(),
        (None, None) => "a copy of P".to_owned(),
    };
    format!("{files}; writes in {}", outcome.shown(&place.work))
}

fn has_records(outcome: &Outcome, suite: Suite) -> bool {
    outcome
        .lines
        .iter()
        .any(|line| matches!(line, Line::Measured(record) if record.suite == Some(suite)))
}

fn about(outcome: &Outcome, suite: Suite) -> Vec<String> {
    let sizes = &outcome.request.sizes;
    let lines: &[&str] = match suite {
        Suite::Mixed => &[
            "what a workload makes in the column image lies on the upper, in a directory merged with \
             the image's",
            "shm_write_fsync_16m is about memory only, so in tmpfs only",
        ],
        Suite::Metadata => &["a negative lookup is a lookup of what is not there"],
        Suite::ReadHeavy => {
            &["4 files of about 64 KiB in each of 2 directories of P; each is asked for 8 times"]
        }
        Suite::ManyFiles => &[
            "4 KiB a file; small_*: 1 to 32 KiB a file, shared out to four threads",
            NOT_IN_VIRTIOFS,
            "nothing is synced; an operation of metadata_cycles_1k makes, asks for, renames and removes a file",
        ],
        Suite::Git => &[
            "an operation is a run of git; git_edits_fsync syncs each append",
            NOT_IN_VIRTIOFS,
        ],
        Suite::Database => &["the time includes the start of Python, single operations do not"],
        Suite::Package => &[
            "an operation is a run of the installer; dpkg syncs what it unpacks; python_venv is run once",
        ],
        Suite::Snapshots => &["ten files are overwritten on each level"],
        Suite::CopyUp => &[
            "each file is changed once: in the column image it lies in the image before",
            "edit_large_file syncs, is run once, and reads all of the file again",
        ],
        Suite::SingleFile => &[],
    };
    let mut notes: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    match suite {
        Suite::SingleFile => notes.push(format!(
            "{} MiB, each block once; with _fsync one fsync at the end; the guest has {}",
            sizes.file_mib,
            Unit::Bytes.shown(outcome.facts.memory_bytes as f64)
        )),
        Suite::CopyUp => notes.push(format!(
            "{} files a round; the large file has {}",
            sizes.changed,
            Unit::Bytes.shown(outcome.facts.large_bytes as f64)
        )),
        _ => (),
    }
    notes
}

/// Lists each distinct failure by workload and place.
fn failures(outcome: &Outcome, part: &Part) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in &outcome.lines {
        let Line::Measured(record) = line else {
            continue;
        };
        let Some(error) = record
            .error
            .as_ref()
            .filter(|_| record.suite == Some(part.suite))
        else {
            continue;
        };
        let words = format!("{} in {} failed: {error}", record.workload, record.place);
        if !said.contains(&words) {
            said.push(words);
        }
    }
    said
}

/// Lists the workloads of some suites that were left out, grouped by reason.
fn left_out(outcome: &Outcome, of: impl Fn(Suite) -> bool) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in &outcome.lines {
        let Line::LeftOut {
            suite,
            workload,
            reason,
        } = line
        else {
            continue;
        };
        if !of(*suite) {
            continue;
        }
        match by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, workloads)) => workloads.push(workload),
            None => by_reason.push((reason, vec![workload])),
        }
    }
    by_reason
        .into_iter()
        .map(|(reason, workloads)| format!("left out: {} ({reason})", workloads.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{SUITES, name};
    use crate::fs::places;

    #[test]
    fn every_part_is_a_suite_that_can_be_named() {
        let parts = places::parts(&[]);
        let suites: Vec<_> = parts.iter().map(|part| part.suite).collect();
        assert_eq!(suites, SUITES);
        let mut names = SUITES.map(name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
