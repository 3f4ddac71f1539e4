//! Plans as bytes: what was written is read, and what a guest does not accept is neither written nor read.

use container_plan::limits::{ENV_MAX, FILTER_INSTRUCTIONS_MAX, MOUNTS_MAX, PLAN_MAX_BYTES};
use container_plan::{
    Capabilities, Cgroup, ContainerPlan, Control, Device, DeviceKind, DeviceRule, Filesystem,
    Instruction, Mount, MountSource, NamespaceScope, PlanError, PodMemory, Process, Propagation,
    Rlimit, SeccompFilter, Sysctl, TerminalSize, UNLIMITED, capability_bit, flags,
};
use proptest::prelude::*;

/// A program that allows all calls.
const ALLOW: Instruction = Instruction {
    code: 6,
    jt: 0,
    jf: 0,
    k: 0x7fff_0000,
};

/// Returns a plan that has a value in every field.
fn whole() -> ContainerPlan {
    let chown = capability_bit("CAP_CHOWN").expect("it is known");
    let mut plan = ContainerPlan {
        id: "web-1".to_owned(),
        process: Process {
            args: vec!["sh".to_owned(), "-c".to_owned(), String::new()],
            env: vec!["PATH=/bin".to_owned(), "EMPTY=".to_owned()],
            cwd: "/work".to_owned(),
            uid: 1000,
            gid: 100,
            additional_gids: vec![0, 4_294_967_294],
            umask: Some(0o077),
            terminal: Some(TerminalSize {
                columns: 80,
                rows: 24,
            }),
            rlimits: vec![Rlimit {
                resource: "nofile".to_owned(),
                soft: 1024,
                hard: UNLIMITED,
            }],
            capabilities: Capabilities {
                bounding: chown,
                effective: chown,
                permitted: chown,
                inheritable: chown,
                ambient: chown,
            },
            no_new_privileges: true,
            oom_score_adj: Some(-998),
        },
        is_root_read_only: true,
        root_propagation: Propagation::RecursiveSlave.into(),
        hostname: "web".to_owned(),
        domainname: "example.org".to_owned(),
        mounts: sources()
            .into_iter()
            .map(|source| Mount {
                destination: "/mnt".to_owned(),
                source: Some(source),
                flags: flags::READ_ONLY | flags::LAZY_TIME,
                recursive_flags: flags::NO_EXEC,
                propagation: Propagation::Private.into(),
                ..Mount::default()
            })
            .collect(),
        devices: vec![Device {
            path: "/dev/fuse".to_owned(),
            kind: DeviceKind::Character.into(),
            major: 10,
            minor: 229,
            mode: 0o666,
            uid: 0,
            gid: 5,
        }],
        masked_paths: vec!["/proc/kcore".to_owned()],
        readonly_paths: vec!["/proc/sys".to_owned()],
        sysctls: vec![Sysctl {
            name: "net.ipv4.conf.eth0/1.forwarding".to_owned(),
            value: "1".to_owned(),
        }],
        cgroup: Cgroup {
            controls: vec![Control {
                file: "cpu.max".to_owned(),
                value: "max 100000".to_owned(),
            }],
            device_rules: vec![DeviceRule {
                is_allowed: true,
                kind: DeviceKind::Block.into(),
                major: Some(8),
                minor: None,
                access: "rm".to_owned(),
            }],
        },
        seccomp: Some(SeccompFilter::new(&[ALLOW])),
        ..ContainerPlan::default()
    };
    plan.namespaces.set_pid(NamespaceScope::Pod);
    plan
}

fn sources() -> Vec<MountSource> {
    vec![
        MountSource::Filesystem(Filesystem::Tmpfs.into()),
        MountSource::Share("0".to_owned()),
        MountSource::Disk("data".to_owned()),
        MountSource::PodMemory(PodMemory {
            name: "shm".to_owned(),
            size_bytes: 64 << 20,
            mode: 0o1777,
            path: "a/b".to_owned(),
        }),
    ]
}

/// Asserts that a change makes a plan invalid, and returns the words of the error.
fn refusal(change: impl FnOnce(&mut ContainerPlan)) -> String {
    use prost::Message as _;

    let mut plan = whole();
    change(&mut plan);
    let error = plan.to_bytes().expect_err("the plan is not valid");
    let read = ContainerPlan::from_bytes(&plan.encode_to_vec());
    assert_eq!(read, Err(error.clone()), "both sides refuse the same");
    error.to_string()
}

#[test]
fn a_whole_plan_is_read_as_it_was_written() {
    let plan = whole();
    let bytes = plan.to_bytes().expect("the plan is valid");
    assert_eq!(ContainerPlan::from_bytes(&bytes), Ok(plan.clone()));
    let process = plan.process.to_bytes().expect("the process is valid");
    assert_eq!(Process::from_bytes(&process), Ok(plan.process));
    let cgroup = plan.cgroup.to_bytes().expect("the values are valid");
    assert_eq!(Cgroup::from_bytes(&cgroup), Ok(plan.cgroup));
    let filter = plan.seccomp.expect("there is one");
    assert_eq!(filter.instructions().collect::<Vec<_>>(), [ALLOW]);
}

#[test]
fn an_empty_plan_is_not_valid() {
    assert!(ContainerPlan::from_bytes(b"").is_err());
    assert!(Process::from_bytes(b"").is_err());
    assert_eq!(Cgroup::from_bytes(b""), Ok(Cgroup::default()));
}

/// The beginning of an error, and the change of a plan that leads to it.
type Expectation = (&'static str, fn(&mut ContainerPlan));

/// Changes of a container's process and of its name.
const OF_THE_PROCESS: &[Expectation] = &[
    ("id is \"a/b\"", |plan| plan.id = "a/b".to_owned()),
    ("id is \"..\"", |plan| plan.id = "..".to_owned()),
    ("process.args", |plan| plan.process.args.clear()),
    ("process.args", |plan| {
        plan.process.args.push("\0".to_owned())
    }),
    ("process.env is \"\"", |plan| {
        plan.process.env.push("secret".to_owned())
    }),
    ("process.env is \"A\"", |plan| {
        plan.process.env.push("A=\0".to_owned())
    }),
    ("process.cwd is \"/a/../b\"", |plan| {
        plan.process.cwd = "/a/../b".to_owned()
    }),
    ("process.uid is 4294967295", |plan| {
        plan.process.uid = u32::MAX
    }),
    ("process.gid", |plan| plan.process.gid = u32::MAX),
    ("process.additional_gids", |plan| {
        plan.process.additional_gids.push(u32::MAX)
    }),
    ("process.umask is 0o1000", |plan| {
        plan.process.umask = Some(0o1000)
    }),
    ("process.terminal is 65536x0", |plan| {
        plan.process.terminal = Some(TerminalSize {
            columns: 65_536,
            rows: 0,
        });
    }),
    ("process.rlimits is \"nofile\"", |plan| {
        let limit = plan.process.rlimits[0].clone();
        plan.process.rlimits.push(limit);
    }),
    ("process.rlimits.soft is 1024", |plan| {
        plan.process.rlimits[0].hard = 1023
    }),
    ("process.capabilities.bounding is 0x20000000001", |plan| {
        plan.process.capabilities.bounding |= 1 << 41
    }),
    ("process.capabilities.effective", |plan| {
        plan.process.capabilities.permitted = 0
    }),
    ("process.capabilities.ambient", |plan| {
        plan.process.capabilities.inheritable = 0
    }),
    ("process.oom_score_adj is -1001", |plan| {
        plan.process.oom_score_adj = Some(-1001)
    }),
];

/// Changes of what surrounds the process.
const OF_ITS_SURROUNDINGS: &[Expectation] = &[
    ("root_propagation is 7", |plan| plan.root_propagation = 7),
    ("hostname", |plan| plan.hostname = "a".repeat(65)),
    ("domainname", |plan| plan.domainname = "\0".to_owned()),
    ("mounts.destination is \"//\"", |plan| {
        plan.mounts[0].destination = "//".to_owned()
    }),
    ("mounts.source is empty", |plan| {
        plan.mounts[0].source = None
    }),
    ("mounts.source is 0", |plan| {
        plan.mounts[0].source = Some(MountSource::Filesystem(0))
    }),
    ("mounts.source.share is \"../x\"", |plan| {
        plan.mounts[0].source = Some(MountSource::Share("../x".to_owned()))
    }),
    ("mounts.source.pod_memory.path", |plan| {
        plan.mounts[0].source = Some(MountSource::PodMemory(PodMemory {
            name: "shm".to_owned(),
            path: "../x".to_owned(),
            ..PodMemory::default()
        }));
    }),
    ("mounts.flags is 0x1000", |plan| plan.mounts[0].flags = 4096),
    ("mounts.propagation", |plan| plan.mounts[0].propagation = -1),
    ("mounts.data is \"mode=7\"", |plan| {
        plan.mounts[1].data = "mode=7".to_owned()
    }),
    ("mounts.is_recursive", |plan| {
        plan.mounts[0].is_recursive = true
    }),
    ("mounts.copies_up", |plan| plan.mounts[1].copies_up = true),
    ("devices.kind is 0", |plan| plan.devices[0].kind = 0),
    ("devices.major is 10:1048576", |plan| {
        plan.devices[0].minor = 1 << 20
    }),
    ("devices.mode is 0o10000", |plan| {
        plan.devices[0].mode = 0o10000
    }),
    ("masked_paths is \"x\"", |plan| {
        plan.masked_paths.push("x".to_owned())
    }),
    ("readonly_paths", |plan| {
        plan.readonly_paths.push("/..".to_owned())
    }),
    ("sysctls.name is \"..\"", |plan| {
        plan.sysctls[0].name = "..".to_owned()
    }),
    ("sysctls.name", |plan| {
        plan.sysctls[0].name = "net.//.x".to_owned()
    }),
    ("namespaces.ipc is 2", |plan| plan.namespaces.ipc = 2),
    ("cgroup.controls.file is \"cgroup.procs\"", |plan| {
        plan.cgroup.controls[0].file = "cgroup.procs".to_owned()
    }),
    ("cgroup.controls.value", |plan| {
        plan.cgroup.controls[0].value = "1\n2".to_owned()
    }),
    ("cgroup.device_rules.access is \"rr\"", |plan| {
        plan.cgroup.device_rules[0].access = "rr".to_owned()
    }),
    ("seccomp.program is 7", |plan| {
        plan.seccomp = Some(filter_of_bytes(7))
    }),
    ("seccomp.program is 0", |plan| {
        plan.seccomp = Some(SeccompFilter::default())
    }),
];

#[test]
fn a_value_that_is_not_accepted_is_named() {
    for (expected, change) in OF_THE_PROCESS.iter().chain(OF_ITS_SURROUNDINGS) {
        let error = refusal(*change);
        assert!(
            error.starts_with(*expected),
            "{error:?} does not begin with {expected:?}"
        );
    }
}

fn filter_of_bytes(length: usize) -> SeccompFilter {
    SeccompFilter {
        program: vec![0; length],
        ..SeccompFilter::default()
    }
}

#[test]
fn a_list_or_a_plan_that_is_too_long_is_refused() {
    let error = refusal(|plan| plan.process.env = vec!["A=".to_owned(); ENV_MAX + 1]);
    assert_eq!(error, "process.env has 65537 entries, the limit is 65536");
    let error = refusal(|plan| {
        let mount = Mount::of_filesystem(Filesystem::Proc, "/proc");
        plan.mounts = vec![mount; MOUNTS_MAX + 1];
    });
    assert_eq!(error, "mounts has 1025 entries, the limit is 1024");
    let error = refusal(|plan| {
        plan.seccomp = Some(SeccompFilter::new(&vec![
            ALLOW;
            FILTER_INSTRUCTIONS_MAX + 1
        ]));
    });
    assert_eq!(error, "seccomp.program has 4097 entries, the limit is 4096");

    let mut plan = whole();
    let variable = format!("A={}", "a".repeat(100_000));
    plan.process.env = vec![variable; 10];
    assert!(matches!(plan.to_bytes(), Err(PlanError::TooLong { bytes }) if bytes > PLAN_MAX_BYTES));
    let bytes = vec![0; PLAN_MAX_BYTES + 1];
    let error = ContainerPlan::from_bytes(&bytes);
    assert_eq!(error, Err(PlanError::TooLong { bytes: bytes.len() }));
}

#[test]
fn debug_output_does_not_show_the_environment() {
    let plan = whole();
    let text = format!("{plan:?}");
    assert!(text.contains("[2 variables]") && !text.contains("PATH=/bin"));
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        if let Ok(plan) = ContainerPlan::from_bytes(&bytes) {
            prop_assert!(plan.to_bytes().is_ok());
        }
    }

    #[test]
    fn a_damaged_plan_is_read_or_refused(index in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = whole().to_bytes().expect("the plan is valid");
        let index = index.index(bytes.len());
        bytes[index] = byte;
        if let Ok(plan) = ContainerPlan::from_bytes(&bytes) {
            prop_assert!(plan.to_bytes().is_ok());
        }
    }
}
