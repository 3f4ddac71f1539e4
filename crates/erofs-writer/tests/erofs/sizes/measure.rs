use std::fs;
use std::time::Instant;

/// Runs `act`. Returns its result and a text with its duration and the most memory that this
/// process used beyond that before.
pub(super) fn measured<T>(act: impl FnOnce() -> T) -> (T, String) {
    // This resets the peak (proc(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    let begun = Instant::now();
    let result = act();
    let elapsed = begun.elapsed();
    let peak_mib = status("VmHWM:").saturating_sub(before) / 1024;
    let said = format!("{:.1} s, {peak_mib} MiB", elapsed.as_secs_f64());
    (result, said)
}

/// Returns a number of KiB from `/proc/self/status`.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
