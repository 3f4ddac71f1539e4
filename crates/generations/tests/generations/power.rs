//! The power is cut at each call, the disk is full at each call, a sync fails.

use crate::expected::Workload;
use crate::simulated::{Failure, Random, Simulated};

const STEPS: usize = 50;

/// Returns the number of workloads: more with `MSB_GENERATIONS_POWER_CUTS`.
fn workloads(short: u64) -> u64 {
    let long = std::env::var("MSB_GENERATIONS_POWER_CUTS");
    long.map_or(short, |text| text.parse().unwrap())
}

fn started(seed: u64) -> (Simulated, Workload) {
    let storage = Simulated::default();
    let workload = Workload::new(storage.clone(), seed);
    (storage, workload)
}

/// Returns the number of calls that a workload makes.
fn calls(seed: u64) -> (u64, u64) {
    let (storage, mut workload) = started(seed);
    let first = storage.calls();
    workload.run(STEPS).expect("nothing fails");
    (first, storage.calls())
}

#[test]
fn after_a_power_cut_at_any_call_all_that_was_flushed_is_there() {
    let mut points = 0;
    for seed in 0..workloads(3) {
        let (first, end) = calls(seed);
        for call in first..=end {
            let (storage, mut workload) = started(seed);
            storage.fail_from(call, Failure::PowerOff);
            let _ = workload.run(STEPS);
            for torn in 0..3 {
                // A second cut follows soon after the first.
                let mut again = workload.cut_power(torn + 1000 * call);
                again.run(5).expect("nothing fails");
                again.cut_power(torn);
                points += 1;
            }
        }
    }
    assert!(points > 1000, "{points} power cuts");
}

#[test]
fn a_full_disk_costs_nothing_but_the_call() {
    for seed in 0..workloads(4) {
        let (first, end) = calls(seed);
        for call in (first..end).step_by(3) {
            let (storage, mut workload) = started(seed);
            let mut random = Random::new(seed ^ call);
            storage.fail_from(call, Failure::Full);
            for _ in 0..STEPS {
                if workload.step().is_err() {
                    if random.below(4) == 0 {
                        storage.heal();
                    }
                    let _ = workload.look_at_all();
                }
            }
            storage.heal();
            workload.look_at_all().expect("there is room again");
            workload.run(10).expect("there is room again");
            workload.cut_power(call);
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_more_is_promised() {
    for seed in 0..workloads(6) {
        let (first, end) = calls(seed);
        for call in first..end {
            let (storage, mut workload) = started(seed);
            storage.fail_from(call, Failure::Sync);
            let mut failed = 0;
            for _ in 0..STEPS {
                if workload.step().is_err() {
                    failed += 1;
                    break;
                }
            }
            if failed > 0 {
                // The storage would succeed now, and not write what it lost.
                workload.flush_all();
                workload.cut_power(call);
            }
        }
    }
}
