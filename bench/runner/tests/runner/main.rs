//! The runner as a program, on a directory of this machine.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use msb_bench_runner::{
    BenchTarget, CacheState, Facts, Line, Lower, Part, Record, Request, Sizes, Suite,
};

const RUNNER: &str = env!("CARGO_BIN_EXE_msb-bench-runner");

#[test]
fn every_workload_is_run_in_every_place_in_turn() {
    let work = tempfile::tempdir().unwrap();
    let suites = [
        Suite::Mixed,
        Suite::Metadata,
        Suite::ReadHeavy,
        Suite::ManyFiles,
        Suite::SingleFile,
        Suite::CopyUp,
    ];
    let records = measured(&run(&request(work.path(), &suites)));
    let rows = |suite| {
        records
            .iter()
            .filter(move |record| record.suite == Some(suite))
            .count()
    };
    // One of the fourteen measures memory only; one of the seven copies can be made only once.
    assert_eq!(rows(Suite::Metadata), 7 * 2 * 2);
    assert!([13 * 4, 14 * 4, 13 * 2 + 14 * 2].contains(&rows(Suite::Mixed)));
    assert_eq!(rows(Suite::ReadHeavy), 4 * 4);
    assert_eq!(rows(Suite::ManyFiles), 12 * 4);
    assert_eq!(rows(Suite::SingleFile), 6 * 4);
    assert_eq!(rows(Suite::CopyUp), 6 * 4 + 2);
    for record in &records {
        assert_eq!((record.errors, &record.error), (0, &None), "{record:?}");
        assert!(record.operations > 0 && record.seconds > 0.0, "{record:?}");
        assert!(record.p50_ns <= record.p95_ns && record.p95_ns <= record.p99_ns);
        assert_eq!(record.cache, Some(CacheState::Warm));
    }
    let order: Vec<_> = records[..4]
        .iter()
        .map(|record| record.place.as_str())
        .collect();
    assert_eq!(order, ["own", "copy", "own", "copy"]);
}

#[test]
fn what_is_made_is_removed() {
    let work = tempfile::tempdir().unwrap();
    let request = request(work.path(), &[Suite::Mixed, Suite::SingleFile]);
    let before = tree(work.path());
    run(&request);
    assert_eq!(tree(work.path()), before);
}

#[test]
fn data_sets_are_the_same_every_time() {
    let work = tempfile::tempdir().unwrap();
    let mut request = request(work.path(), &[Suite::Mixed]);
    request.only = vec!["random_read".to_owned(), "mixed".to_owned()];
    let operations = |lines: &[Line]| -> Vec<_> {
        let records = measured(lines);
        records
            .into_iter()
            .map(|record| (record.workload, record.operations))
            .collect()
    };
    assert_eq!(operations(&run(&request)), operations(&run(&request)));
}

#[test]
fn programs_are_run_where_they_are() {
    let work = tempfile::tempdir().unwrap();
    let lines = run(&request(work.path(), &[Suite::Git, Suite::Database]));
    let lacking = lines.iter().filter(|line| match line {
        Line::LeftOut { reason, .. } => {
            assert!(reason.contains(" has no "), "{line:?}");
            true
        }
        _ => false,
    });
    // Two rounds in two places.
    let expected = (7 + 2 - lacking.count()) * 4;
    let records = measured(&lines);
    assert_eq!(records.len(), expected);
    for record in records {
        assert_eq!((record.errors, &record.error), (0, &None), "{record:?}");
        assert!(record.operations > 0, "{record:?}");
    }
}

#[test]
fn snapshots_are_left_out_by_name() {
    let work = tempfile::tempdir().unwrap();
    let lines = run(&request(work.path(), &[Suite::Snapshots]));
    let left_out = |line: &Line| match line {
        Line::LeftOut { workload, .. } => workload.clone(),
        other => panic!("nothing can be measured: {other:?}"),
    };
    let names: Vec<String> = lines.iter().map(left_out).collect();
    assert_eq!(names, ["snapshots_10", "snapshots_50", "snapshots_100"]);
}

#[test]
fn a_workload_that_cannot_be_run_is_told_of() {
    let work = tempfile::tempdir().unwrap();
    let mut request = request(work.path(), &[Suite::CopyUp]);
    request.rounds = 40;
    request.only = vec!["rename_directory".to_owned()];
    let lines = run(&request);
    let told =
        |line: &Line| matches!(line, Line::LeftOut { reason, .. } if reason.contains("too few"));
    assert!(lines.iter().all(told), "{lines:?}");
}

#[test]
fn facts_name_the_library_and_a_large_file() {
    let root = tempfile::tempdir().unwrap();
    library(&root.path().join("usr/lib/python3.11"));
    fs::write(root.path().join("large"), vec![0; 100_000]).unwrap();
    let output = Command::new(RUNNER)
        .arg("facts")
        .arg(root.path())
        .output()
        .unwrap();
    let facts: Facts = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(facts.lower.tree, root.path().join("usr/lib/python3.11"));
    assert_eq!(facts.lower.large, Some(root.path().join("large")));
    assert_eq!((facts.tree_files, facts.large_bytes), (60, 100_000));
}

/// Returns a request for two places, one with its own files.
fn request(work: &Path, suites: &[Suite]) -> Request {
    let tree = work.join("library");
    library(&tree);
    let large = work.join("large");
    fs::write(&large, vec![1; 200_000]).unwrap();
    let lower = Lower {
        tree,
        large: Some(large),
    };
    let place = |name: &str, lower: Option<&Lower>| BenchTarget {
        name: name.to_owned(),
        lower: lower.cloned(),
        work: work.join(name),
        mounted: None,
    };
    let part = |suite: &Suite| Part {
        suite: *suite,
        places: vec!["own".to_owned(), "copy".to_owned()],
        cold: false,
    };
    Request {
        places: vec![place("own", Some(&lower)), place("copy", None)],
        source: lower,
        parts: suites.iter().map(part).collect(),
        rounds: 2,
        only: Vec::new(),
        sizes: Sizes {
            file_mib: 1,
            ..Sizes::quick()
        },
        // Other programs use this machine: waiting for their writes takes long and shows nothing.
        settle: false,
        ask_host: false,
    }
}

/// Creates six directories of ten files.
fn library(tree: &Path) {
    for directory in 0..6 {
        let directory = tree.join(format!("package{directory}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..10 {
            fs::write(directory.join(format!("{file}.py")), "print(6 * 7)\n").unwrap();
        }
    }
}

fn run(request: &Request) -> Vec<Line> {
    let mut runner = Command::new(RUNNER);
    runner
        .arg("run")
        .arg(serde_json::to_string(request).unwrap());
    let output = runner.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn measured(lines: &[Line]) -> Vec<Record> {
    let records = lines.iter().filter_map(|line| match line {
        Line::Measured(record) => Some(record.clone()),
        _ => None,
    });
    records.collect()
}

fn tree(root: &Path) -> Vec<std::path::PathBuf> {
    let mut paths = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
            paths.push(entry.path());
        }
    }
    paths.sort();
    paths
}

#[test]
fn a_writer_tells_its_longest_gap_for_each_line() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let work = tempfile::tempdir().unwrap();
    let mut runner = Command::new(RUNNER)
        .arg("gaps")
        .arg(work.path().join("file"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asked = runner.stdin.take().unwrap();
    let mut answers = BufReader::new(runner.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        asked.write_all(b"\n").unwrap();
        let gap_s: f64 = answers.next().unwrap().unwrap().parse().unwrap();
        assert!(gap_s > 0.0, "{gap_s}");
    }
    drop(asked);
    assert!(runner.wait().unwrap().success());
}
