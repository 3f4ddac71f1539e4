//! Whole specifications, as programs write them.

use container_plan::{
    Filesystem, MountSource, NamespaceScope, PodMemory, Propagation, capability_bit, flags,
};
use oci_spec_plan::{MemoryVolume, Pod, SpecPlan, plan_container};

use super::specification::{CTR, paths, plan, refused};

const CRI_CONTAINER: &str = include_str!("../fixtures/cri_container.json");
const CRI_SANDBOX: &str = include_str!("../fixtures/cri_sandbox.json");
const DOCKER: &str = include_str!("../fixtures/docker.json");
const RUNC: &str = include_str!("../fixtures/runc_spec.json");
/// The directory for `/dev/shm` of the sandbox in the fixtures.
const SHM: &str = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/\
    4f2d5a7e9c1b3d5f7a9b1c3d5e7f9a1b3c5d7e9f1a3b5c7d9e1f3a5b7c9d1e3f/shm";

/// Returns the values of a container's control group.
fn controls(plan: &SpecPlan) -> Vec<(&str, &str)> {
    let controls = plan.container.cgroup.controls.iter();
    controls
        .map(|control| (control.file.as_str(), control.value.as_str()))
        .collect()
}

fn shm() -> PodMemory {
    PodMemory {
        name: "shm".to_owned(),
        size_bytes: 64 << 20,
        mode: 0o1777,
        path: String::new(),
    }
}

fn pod() -> Pod {
    Pod {
        vmm_pid: Some(4242),
        first_share_entry: 3,
        memory: vec![MemoryVolume {
            host_path: SHM.to_owned(),
            memory: shm(),
        }],
        ..Pod::default()
    }
}

#[test]
fn the_specification_of_ctr_run_is_planned() {
    let plan = plan(CTR).expect("it is supported");
    let container = &plan.container;
    assert_eq!(container.id, "demo");
    assert_eq!(container.process.args, ["sh", "-c", "echo hello"]);
    assert_eq!(container.process.additional_gids.len(), 11);
    assert_eq!(container.process.terminal, None);
    assert_eq!(container.process.rlimits[0].resource, "nofile");
    assert!(container.process.no_new_privileges && !container.is_root_read_only);
    let chown = capability_bit("CAP_CHOWN").expect("it is known");
    let sets = container.process.capabilities;
    assert_eq!(
        (sets.effective & chown, sets.inheritable, sets.ambient),
        (chown, 0, 0)
    );
    let kinds: Vec<_> = container
        .mounts
        .iter()
        .map(|mount| mount.filesystem())
        .collect();
    let expected = [
        Filesystem::Proc,
        Filesystem::Tmpfs,
        Filesystem::Devpts,
        Filesystem::Tmpfs,
        Filesystem::Mqueue,
        Filesystem::Sysfs,
        Filesystem::Tmpfs,
    ];
    assert_eq!(kinds, expected.map(Some));
    assert_eq!(container.mounts[1].data, "mode=755,size=65536k");
    assert_eq!(
        container.mounts[1].flags,
        flags::NO_SUID | flags::STRICT_ATIME
    );
    assert_eq!(
        container.mounts[2].data,
        "newinstance,ptmxmode=0666,mode=0620,gid=5"
    );
    assert!(container.devices.is_empty() && container.seccomp.is_none());
    assert_eq!(container.masked_paths.len(), 11);
    assert_eq!(container.readonly_paths.len(), 5);
    assert_eq!(container.cgroup.device_rules.len(), 10);
    assert!(controls(&plan).is_empty());
    assert_eq!(container.namespaces.pid(), NamespaceScope::Container);
    assert_eq!(plan.host.cgroups_path, "/default/demo");
    assert_eq!(plan.host.network_namespace, None);
    assert!(plan.host.binds.is_empty());
    assert_eq!(paths(&plan.notes), ["root.path", "annotations"]);
}

#[test]
fn a_container_of_a_pod_is_planned() {
    let plan = plan_container("nginx", CRI_CONTAINER.as_bytes(), &pod());
    let plan = plan.expect("it is supported");
    let container = &plan.container;
    assert_eq!((container.process.uid, container.process.gid), (101, 101));
    assert_eq!(container.process.oom_score_adj, Some(998));
    assert!(container.is_root_read_only);
    assert_eq!(container.namespaces.pid(), NamespaceScope::Container);
    assert_eq!(container.namespaces.ipc(), NamespaceScope::Pod);
    assert_eq!(container.namespaces.uts(), NamespaceScope::Pod);
    let network = plan.host.network_namespace.as_deref();
    assert_eq!(network, Some("/proc/4242/ns/net"));
    let expected = [
        ("memory.max", "134217728"),
        ("memory.swap.max", "0"),
        ("cpu.weight", "10"),
        ("cpu.max", "50000 100000"),
        ("memory.oom.group", "1"),
    ];
    assert_eq!(controls(&plan), expected);
    assert!(
        container
            .seccomp
            .as_ref()
            .is_some_and(|filter| filter.allows_speculation)
    );

    let of = |destination: &str| {
        let mut mounts = container.mounts.iter();
        mounts
            .rfind(|mount| mount.destination == destination)
            .expect("it is mounted")
    };
    assert_eq!(of("/sys/fs/cgroup").filesystem(), Some(Filesystem::Cgroup2));
    assert_eq!(of("/dev/shm").source, Some(MountSource::PodMemory(shm())));
    let hosts = of("/etc/hosts");
    assert_eq!(hosts.source, Some(MountSource::Share("3".to_owned())));
    assert_eq!(hosts.propagation(), Propagation::RecursivePrivate);
    assert!(hosts.is_recursive && hosts.flags == 0);
    let token = of("/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(token.flags, flags::READ_ONLY);

    let binds: Vec<_> = plan
        .host
        .binds
        .iter()
        .map(|bind| bind.entry.as_str())
        .collect();
    assert_eq!(binds, ["3", "4", "5", "6", "7", "8"]);
    let read_only: Vec<_> = plan
        .host
        .binds
        .iter()
        .map(|bind| bind.is_read_only)
        .collect();
    assert_eq!(read_only, [false, false, false, false, true, false]);
    let ignored = ["process.apparmorProfile", "root.path", "annotations"];
    assert_eq!(paths(&plan.notes), ignored);
}

#[test]
fn a_container_that_joins_another_pod_is_refused() {
    let other = Pod {
        vmm_pid: Some(4243),
        ..pod()
    };
    for pod in [other, Pod::default()] {
        let refusal = refused(plan_container("nginx", CRI_CONTAINER.as_bytes(), &pod));
        assert_eq!(refusal.path, "linux.namespaces[1].path");
        assert_eq!(refusal.value, "\"/proc/4242/ns/ipc\"");
    }
}

#[test]
fn the_sandbox_of_a_pod_is_planned() {
    let plan = plan_container("pod", CRI_SANDBOX.as_bytes(), &pod());
    let plan = plan.expect("it is supported");
    let container = &plan.container;
    assert_eq!(container.hostname, "web-7d5f6b8c9d-x2k4q");
    let names: Vec<_> = container
        .sysctls
        .iter()
        .map(|sysctl| sysctl.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "net.ipv4.ip_unprivileged_port_start",
            "net.ipv4.ping_group_range"
        ]
    );
    assert_eq!(container.process.oom_score_adj, Some(-998));
    assert_eq!(controls(&plan), [("cpu.weight", "1")]);
    let network = plan.host.network_namespace.as_deref();
    assert_eq!(
        network,
        Some("/var/run/netns/cni-5c1d7a2e-0b9f-4e8d-a7c6-3f2e1d0c9b8a")
    );
    let shm = container
        .mounts
        .iter()
        .rfind(|mount| mount.destination == "/dev/shm");
    let flags = flags::READ_ONLY | flags::NO_SUID | flags::NO_DEV | flags::NO_EXEC;
    assert_eq!(shm.map(|mount| mount.flags), Some(flags));
}

#[test]
fn the_specification_of_docker_is_planned() {
    let plan = plan(DOCKER).expect("it is supported");
    let container = &plan.container;
    let size = container
        .process
        .terminal
        .map(|size| (size.columns, size.rows));
    assert_eq!(size, Some((132, 50)));
    assert_eq!(container.hostname, "0123456789ab");
    assert_eq!(container.process.oom_score_adj, Some(0));
    assert!(controls(&plan).is_empty(), "zeros are no limits");
    assert_eq!(plan.host.binds.len(), 3);
    assert_eq!(plan.host.network_namespace, None);
    let ignored = ["process.apparmorProfile", "root.path"];
    assert_eq!(paths(&plan.notes), ignored);
}

#[test]
fn the_default_of_runc_is_planned() {
    let plan = plan(RUNC).expect("it is supported");
    let container = &plan.container;
    assert_eq!(container.hostname, "runc");
    assert!(container.is_root_read_only);
    assert!(container.process.terminal.is_some());
    assert_eq!(
        container.process.capabilities.ambient, 0,
        "nothing is inheritable"
    );
    let ignored = ["process.capabilities.ambient", "root.path"];
    assert_eq!(paths(&plan.notes), ignored);
}
