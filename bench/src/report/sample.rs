//! A report with every kind of content, for the tests of the output formats.

use super::{
    Cache, Cell, Conditions, Durability, Latency, Machine, Plot, Report, Row, Table, Target, Unit,
};

pub(super) fn report() -> Report {
    Report {
        benchmark: "sample".to_owned(),
        command: "msb bench sample --rounds 3".to_owned(),
        measured_s: 1_700_000_000,
        machine: Machine {
            processor: "A <processor> & more".to_owned(),
            processors: 2,
            memory_bytes: 24 << 30,
            kernel: "Linux 6.12.0".to_owned(),
            msb: "0.1.0".to_owned(),
            vmm: Some("QEMU, emulated".to_owned()),
        },
        tables: vec![ratios(), lines(), stacked()],
        targets: vec![
            Target::new(true, "reading: 0.50 of the other's time (at most 1)"),
            Target::new(false, "writing: 4.00 of the other's time (at most 1)"),
        ],
    }
}

fn conditions(notes: &[&str]) -> Conditions {
    Conditions {
        cache: Cache::ColdGuest,
        durability: Durability::None,
        place: "in /var/tmp".to_owned(),
        notes: notes.iter().map(|&note| note.to_owned()).collect(),
    }
}

fn ratios() -> Table {
    let reading = Cell {
        rounds: vec![0.001, 0.002, 0.003],
        latency: Some(Latency {
            p50: 1e-6,
            p95: 2e-6,
            p99: 9e-6,
        }),
        operations: 1000,
        errors: 0,
    };
    let failing = Cell {
        errors: 2,
        ..Cell::from_rounds(vec![0.4, 0.4, 0.4])
    };
    Table {
        title: "Reading and writing".to_owned(),
        conditions: conditions(&["3 rounds"]),
        unit: Unit::Seconds,
        columns: ["the other", "msb", "absent"].map(str::to_owned).into(),
        baseline: Some(0),
        rows: vec![
            Row::new(
                "read",
                vec![
                    Some(Cell::from_rounds(vec![0.002, 0.004, 0.004])),
                    Some(reading),
                    None,
                ],
            ),
            Row::new(
                "write | sync",
                vec![
                    Some(Cell::from_rounds(vec![0.1, 0.1, 0.2])),
                    Some(failing),
                    None,
                ],
            ),
        ],
        plot: Plot::Ratios,
    }
}

fn lines() -> Table {
    let row =
        |at: u32, bytes: f64| Row::at(f64::from(at), at.to_string(), vec![Some(Cell::once(bytes))]);
    Table {
        title: "Memory by layers".to_owned(),
        conditions: conditions(&[]),
        unit: Unit::Bytes,
        columns: vec!["msb".to_owned()],
        baseline: None,
        rows: vec![row(0, 5e6), row(1, 1e7), row(127, 3e7)],
        plot: Plot::Lines,
    }
}

fn stacked() -> Table {
    Table {
        title: "A start".to_owned(),
        conditions: conditions(&[]),
        unit: Unit::Seconds,
        columns: ["kernel", "agent"].map(str::to_owned).into(),
        baseline: None,
        rows: vec![Row::new(
            "msb run",
            vec![Some(Cell::once(0.25)), Some(Cell::once(0.05))],
        )],
        plot: Plot::Stacked,
    }
}
