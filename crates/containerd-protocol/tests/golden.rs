//! The bytes of messages, spelled out by their field numbers.

use std::fmt::Debug;

use containerd_protocol::bootstrap::{BootstrapParams, BootstrapResult, Extension, RuntimeInfo};
use containerd_protocol::events::{Envelope, ForwardRequest, TaskDelete, TaskExit, TaskOom};
use containerd_protocol::metrics::{Cpu, Memory, MemoryEvents, Metrics, Pids};
use containerd_protocol::mount::{Mount, MountCapabilities};
use containerd_protocol::options::Options;
use containerd_protocol::services::{
    Container, Descriptor, GetContainerResponse, GetImageResponse, Image, ReadContentRequest,
    ReadContentResponse, SnapshotInfo, StatSnapshotRequest, StatSnapshotResponse,
};
use containerd_protocol::task::{
    CreateTaskRequest, DeleteResponse, KillRequest, StateResponse, TaskStatus, WaitResponse,
};
use containerd_protocol::{Any, Message, Timestamp};

/// Returns a field with a length: strings, bytes and messages.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("a short field");
    assert!(tag < 16 && length < 128);
    [&[tag << 3 | 2, length], content].concat()
}

/// Checks that a message has these bytes, and is read from them.
fn check<M: Message + Default + PartialEq + Debug>(message: &M, bytes: &[u8]) {
    assert_eq!(message.encode_to_vec(), bytes, "{message:?}");
    assert_eq!(M::decode(bytes).as_ref(), Ok(message));
}

#[test]
fn a_create_request_has_the_fields_of_containerd() {
    let request = CreateTaskRequest {
        id: "a".into(),
        bundle: "/b".into(),
        rootfs: vec![Mount {
            r#type: "erofs".into(),
            source: "/l".into(),
            target: "/t".into(),
            options: vec!["ro".into(), "loop".into()],
        }],
        terminal: true,
        stdin: "/0".into(),
        stdout: "/1".into(),
        stderr: "/2".into(),
        checkpoint: "/c".into(),
        parent_checkpoint: "/p".into(),
        options: Some(Any::pack(&Options {
            config_path: "/o".into(),
            ..Options::default()
        })),
    };
    let mount = [
        field(1, b"erofs"),
        field(2, b"/l"),
        field(3, b"/t"),
        field(4, b"ro"),
        field(4, b"loop"),
    ];
    let options = [
        field(1, b"runtimeoptions.v1.Options"),
        field(2, &field(2, b"/o")),
    ];
    let bytes = [
        field(1, b"a"),
        field(2, b"/b"),
        field(3, &mount.concat()),
        vec![4 << 3, 1],
        field(5, b"/0"),
        field(6, b"/1"),
        field(7, b"/2"),
        field(8, b"/c"),
        field(9, b"/p"),
        field(10, &options.concat()),
    ];
    check(&request, &bytes.concat());
}

#[test]
fn ends_and_states_have_the_fields_of_containerd() {
    let exited_at = Some(Timestamp {
        seconds: 5,
        nanos: 7,
    });
    let time = [1 << 3, 5, 2 << 3, 7];
    check(
        &WaitResponse {
            exit_status: 9,
            exited_at,
        },
        &[vec![8, 9], field(2, &time)].concat(),
    );
    let deleted = DeleteResponse {
        pid: 3,
        exit_status: 9,
        exited_at,
    };
    check(&deleted, &[vec![8, 3, 16, 9], field(3, &time)].concat());
    let kill = KillRequest {
        id: "a".into(),
        exec_id: "e".into(),
        signal: 15,
        all: true,
    };
    check(
        &kill,
        &[field(1, b"a"), field(2, b"e"), vec![24, 15, 32, 1]].concat(),
    );
    let state = StateResponse {
        id: "a".into(),
        bundle: "/b".into(),
        pid: 3,
        status: TaskStatus::Stopped.into(),
        stdin: "/0".into(),
        stdout: "/1".into(),
        stderr: "/2".into(),
        terminal: true,
        exit_status: 9,
        exited_at,
        exec_id: "e".into(),
    };
    let bytes = [
        field(1, b"a"),
        field(2, b"/b"),
        vec![24, 3, 32, 3],
        field(5, b"/0"),
        field(6, b"/1"),
        field(7, b"/2"),
        vec![64, 1, 72, 9],
        field(10, &time),
        field(11, b"e"),
    ];
    check(&state, &bytes.concat());
}

#[test]
fn a_forwarded_exit_has_the_fields_of_containerd() {
    let time = Timestamp {
        seconds: 5,
        nanos: 0,
    };
    let exit = TaskExit {
        container_id: "a".into(),
        id: "e".into(),
        pid: 3,
        exit_status: 9,
        exited_at: Some(time),
    };
    let exit_bytes = [
        field(1, b"a"),
        field(2, b"e"),
        vec![24, 3, 32, 9],
        field(5, &[8, 5]),
    ]
    .concat();
    check(&exit, &exit_bytes);
    let request = ForwardRequest {
        envelope: Some(Envelope {
            timestamp: Some(time),
            namespace: "k8s.io".into(),
            topic: "/tasks/exit".into(),
            event: Some(Any::pack(&exit)),
        }),
    };
    let any = [
        field(1, b"containerd.events.TaskExit"),
        field(2, &exit_bytes),
    ]
    .concat();
    let envelope = [
        field(1, &[8, 5]),
        field(2, b"k8s.io"),
        field(3, b"/tasks/exit"),
        field(4, &any),
    ];
    check(&request, &field(1, &envelope.concat()));
    let delete = TaskDelete {
        container_id: "a".into(),
        pid: 3,
        exit_status: 9,
        exited_at: None,
        id: "a".into(),
    };
    check(
        &delete,
        &[field(1, b"a"), vec![16, 3, 24, 9], field(5, b"a")].concat(),
    );
    assert_eq!(
        Any::pack(&TaskOom::default()).type_url,
        "containerd.events.TaskOOM"
    );
}

#[test]
fn the_bootstrap_has_the_fields_of_containerd() {
    let params = BootstrapParams {
        instance_id: "a".into(),
        namespace: "n".into(),
        log_level: 4,
        containerd_version: "v".into(),
        containerd_ttrpc_address: "t".into(),
        containerd_grpc_address: "g".into(),
        containerd_binary: "b".into(),
        extensions: vec![Extension {
            value: Some(Any {
                type_url: "x".into(),
                value: vec![1],
            }),
        }],
        socket_dir: "/s".into(),
    };
    let any = [field(1, b"x"), field(2, &[1])].concat();
    let bytes = [
        field(1, b"a"),
        field(2, b"n"),
        vec![24, 4],
        field(4, b"v"),
        field(5, b"t"),
        field(6, b"g"),
        field(7, b"b"),
        field(8, &field(1, &any)),
        field(9, b"/s"),
    ];
    check(&params, &bytes.concat());
    let capabilities = MountCapabilities {
        types: vec!["erofs".into()],
        transforms: vec!["mkfs".into()],
    };
    let result = BootstrapResult {
        version: 3,
        address: "unix:///s".into(),
        protocol: "ttrpc".into(),
        metadata: [("k".to_owned(), "v".to_owned())].into(),
        extensions: vec![Extension {
            value: Some(Any::pack(&capabilities)),
        }],
    };
    let entry = [field(1, b"k"), field(2, b"v")].concat();
    let capabilities = [field(1, b"erofs"), field(2, b"mkfs")].concat();
    let any = [
        field(1, b"containerd.types.MountCapabilities"),
        field(2, &capabilities),
    ]
    .concat();
    let bytes = [
        vec![8, 3],
        field(2, b"unix:///s"),
        field(3, b"ttrpc"),
        field(5, &entry),
        field(6, &field(1, &any)),
    ];
    check(&result, &bytes.concat());
    let info = RuntimeInfo {
        name: "r".into(),
        annotations: [("k".to_owned(), "v".to_owned())].into(),
        ..RuntimeInfo::default()
    };
    check(&info, &[field(1, b"r"), field(5, &entry)].concat());
}

#[test]
fn metrics_have_the_fields_of_cgroups_v2() {
    let metrics = Metrics {
        pids: Some(Pids {
            current: 1,
            limit: 2,
        }),
        cpu: Some(Cpu {
            usage_usec: 1,
            throttled_usec: 6,
            ..Cpu::default()
        }),
        memory: Some(Memory {
            inactive_file: 13,
            usage: 32,
            usage_limit: 33,
            ..Memory::default()
        }),
        io: None,
        memory_events: Some(MemoryEvents {
            oom: 4,
            oom_kill: 5,
        }),
    };
    let bytes = [
        field(1, &[8, 1, 16, 2]),
        field(2, &[8, 1, 48, 6]),
        // The numbers of fields from 16 on have two bytes.
        field(4, &[104, 13, 128, 2, 32, 136, 2, 33]),
        field(8, &[32, 4, 40, 5]),
    ];
    check(&metrics, &bytes.concat());
}

#[test]
fn the_name_of_a_type_is_its_last_segment() {
    let mut any = Any::pack(&Options::default());
    any.type_url = format!("types.example/{}", any.type_url);
    assert_eq!(any.unpack::<Options>(), Some(Ok(Options::default())));
    assert_eq!(any.unpack::<Metrics>(), None);
}

#[test]
fn answers_of_services_have_the_fields_of_containerd() {
    let container = Container {
        id: "a".into(),
        image: "i".into(),
        snapshotter: "s".into(),
        snapshot_key: "k".into(),
    };
    let bytes = [
        field(1, b"a"),
        field(3, b"i"),
        field(6, b"s"),
        field(7, b"k"),
    ];
    check(
        &GetContainerResponse {
            container: Some(container),
        },
        &field(1, &bytes.concat()),
    );
    let image = Image {
        name: "i".into(),
        target: Some(Descriptor {
            media_type: "m".into(),
            digest: "d".into(),
            size: 5,
        }),
    };
    let target = [field(1, b"m"), field(2, b"d"), vec![3 << 3, 5]];
    let bytes = [field(1, b"i"), field(3, &target.concat())];
    check(
        &GetImageResponse { image: Some(image) },
        &field(1, &bytes.concat()),
    );
    let info = SnapshotInfo {
        name: "k".into(),
        parent: "p".into(),
    };
    let bytes = [field(1, b"k"), field(2, b"p")];
    check(
        &StatSnapshotResponse { info: Some(info) },
        &field(1, &bytes.concat()),
    );
}

#[test]
fn questions_to_services_have_the_fields_of_containerd() {
    let request = StatSnapshotRequest {
        snapshotter: "s".into(),
        key: "k".into(),
    };
    check(&request, &[field(1, b"s"), field(2, b"k")].concat());
    let request = ReadContentRequest {
        digest: "d".into(),
        offset: 1,
        size: 2,
    };
    let bytes = [field(1, b"d"), vec![2 << 3, 1, 3 << 3, 2]];
    check(&request, &bytes.concat());
    let part = ReadContentResponse {
        offset: 1,
        data: b"x".to_vec(),
    };
    check(&part, &[vec![1 << 3, 1], field(2, b"x")].concat());
}
