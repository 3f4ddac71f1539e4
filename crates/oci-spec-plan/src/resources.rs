//! Limits: the values of cgroup v2 that the fields of both versions mean.

use container_plan::{Cgroup, Control, is_control_file};

use crate::Refusal;
use crate::device;
use crate::node::{Fields, Node};
use crate::plan::Note;

/// The period of a limit of processor time without one, in microseconds.
const PERIOD_US: u64 = 100_000;
/// The shares that the kernel takes.
const SHARES: std::ops::RangeInclusive<u64> = 2..=262_144;

/// Plans the values and the rules of a control group.
pub(crate) fn plan(mut resources: Fields, notes: &mut Vec<Note>) -> Result<Cgroup, Refusal> {
    let mut cgroup = Cgroup::default();
    for node in resources.list("devices")? {
        cgroup.device_rules.push(device::rule(node.fields()?)?);
    }
    let controls = &mut cgroup.controls;
    if let Some(memory) = resources.object("memory")? {
        plan_memory(memory, controls, notes)?;
    }
    if let Some(cpu) = resources.object("cpu")? {
        plan_cpu(cpu, controls, notes)?;
    }
    if let Some(mut pids) = resources.object("pids")? {
        if let Some(limit) = pids.number::<i64>("limit")?.filter(|limit| *limit != 0) {
            push(controls, "pids.max", value_or_max(limit));
        }
        pids.finish(notes)?;
    }
    for node in resources.list("hugepageLimits")? {
        check_huge_pages(node.fields()?, notes)?;
    }
    if let Some(unified) = resources.object("unified")? {
        plan_unified(unified, controls, notes)?;
    }
    resources.finish(notes)?;
    Ok(cgroup)
}

fn plan_memory(
    mut memory: Fields,
    controls: &mut Vec<Control>,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    let limit = memory.number::<i64>("limit")?.unwrap_or(0);
    let swap = memory.take("swap");
    let reservation = memory.number::<i64>("reservation")?.unwrap_or(0);
    if limit != 0 {
        push(controls, "memory.max", value_or_max(limit));
    }
    if let Some(swap) = swap
        && let Some(value) = swap_value(&swap, limit)?
    {
        push(controls, "memory.swap.max", value);
    }
    if reservation != 0 {
        push(controls, "memory.low", value_or_max(reservation));
    }
    memory.finish(notes)
}

/// Returns `memory.swap.max` for a limit of memory and swap together; `None` if swap is not limited.
fn swap_value(node: &Node, limit: i64) -> Result<Option<String>, Refusal> {
    let swap = node.number::<i64>()?;
    if swap == 0 {
        return Ok(None);
    }
    if swap < 0 {
        return Ok(Some(value_or_max(swap)));
    }
    match swap.checked_sub(limit) {
        Some(difference) if limit > 0 && difference >= 0 => Ok(Some(difference.to_string())),
        _ => {
            let reason = "memory with swap must not be less than a given limit of memory";
            Err(node.refuse(reason, None))
        }
    }
}

fn plan_cpu(
    mut cpu: Fields,
    controls: &mut Vec<Control>,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    if let Some(shares) = cpu.number::<u64>("shares")?.filter(|shares| *shares != 0) {
        push(controls, "cpu.weight", weight(shares).to_string());
    }
    let quota = cpu.number::<i64>("quota")?.unwrap_or(0);
    let period = cpu.number::<u64>("period")?.unwrap_or(0);
    if quota != 0 || period != 0 {
        let period = if period == 0 { PERIOD_US } else { period };
        let quota = if quota > 0 { quota } else { -1 };
        push(
            controls,
            "cpu.max",
            format!("{} {period}", value_or_max(quota)),
        );
    }
    if let Some(burst) = cpu.number::<u64>("burst")?.filter(|burst| *burst != 0) {
        push(controls, "cpu.max.burst", burst.to_string());
    }
    if let Some(idle) = cpu.number::<i64>("idle")?.filter(|idle| *idle != 0) {
        push(controls, "cpu.idle", idle.to_string());
    }
    cpu.finish(notes)
}

/// Returns the weight of cgroup v2 for shares of v1, as runc and the kubelet convert it.
fn weight(shares: u64) -> u64 {
    let shares = shares.clamp(*SHARES.start(), *SHARES.end());
    1 + (shares - SHARES.start()) * 9999 / (SHARES.end() - SHARES.start())
}

/// Checks a limit of huge pages. The kubelet gives one of 0 for each size of pages that its host has.
fn check_huge_pages(mut limit: Fields, notes: &mut Vec<Note>) -> Result<(), Refusal> {
    limit.take("pageSize");
    if let Some(node) = limit.take("limit")
        && node.number::<u64>()? != 0
    {
        let reason = "a guest has no huge pages";
        return Err(node.refuse(reason, Some("remove the limit of huge pages")));
    }
    limit.finish(notes)
}

fn plan_unified(
    unified: Fields,
    controls: &mut Vec<Control>,
    notes: &mut Vec<Note>,
) -> Result<(), Refusal> {
    for (file, node) in unified.entries() {
        if node.is_ignored(notes) {
            continue;
        }
        if !is_control_file(&file) {
            let reason = "it is not a limit of processors, memory or processes of cgroup v2";
            return Err(node.refuse(reason, Some("remove it")));
        }
        push(controls, &file, node.text()?.to_owned());
    }
    Ok(())
}

fn push(controls: &mut Vec<Control>, file: &str, value: String) {
    controls.push(Control {
        file: file.to_owned(),
        value,
    });
}

/// Returns a limit, where a negative number means that there is none.
fn value_or_max(limit: i64) -> String {
    if limit < 0 {
        "max".to_owned()
    } else {
        limit.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_the_weights_of_runc() {
        let weights = [
            (1, 1),
            (2, 1),
            (1024, 39),
            (262_144, 10_000),
            (u64::MAX, 10_000),
        ];
        for (shares, expected) in weights {
            assert_eq!(weight(shares), expected, "{shares}");
        }
    }
}
