//! Specifications of containers, as containerd hands them over: `config.json`, a process of an exec, limits of an update.

use std::collections::BTreeSet;

use container_plan::{Cgroup, ContainerPlan, MountSource, Process};
use oci_spec_plan::{Architecture, Pod, plan_container, plan_process, plan_resources};

/// Plans `bytes` as a specification, as a process and as limits.
///
/// # Panics
/// If a plan is not one that a guest reads as the same value, or if a mount has no part on the host.
pub fn run(bytes: &[u8]) {
    for architecture in [Architecture::X86_64, Architecture::Aarch64] {
        let pod = Pod {
            architecture,
            vmm_pid: Some(4242),
            ..Pod::default()
        };
        if let Ok(plan) = plan_container("fuzz", bytes, &pod) {
            let encoded = plan.container.to_bytes().expect("a plan is valid");
            let read = ContainerPlan::from_bytes(&encoded);
            assert_eq!(read.as_ref(), Ok(&plan.container));
            let mut shown: BTreeSet<_> = plan.host.binds.iter().map(|bind| &bind.entry).collect();
            for mount in &plan.container.mounts {
                if let Some(MountSource::Share(entry)) = &mount.source {
                    assert!(
                        shown.remove(entry),
                        "the entry {entry:?} is not the mount's"
                    );
                }
            }
            assert!(shown.is_empty(), "no mount has the entries {shown:?}");
        }
    }
    if let Ok(process) = plan_process(bytes) {
        let encoded = process.to_bytes().expect("a process is valid");
        assert_eq!(Process::from_bytes(&encoded), Ok(process));
    }
    if let Ok(cgroup) = plan_resources(bytes) {
        let encoded = cgroup.to_bytes().expect("limits are valid");
        assert_eq!(Cgroup::from_bytes(&encoded), Ok(cgroup));
    }
}
