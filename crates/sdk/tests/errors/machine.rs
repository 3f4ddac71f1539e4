use msb_agent_protocol::ClientError;
use msb_runtime::network::PublishError;
use msb_machine_records::TimelineError;
use msb_runtime::{BootDiskError, KernelError, StartError};
use msb_vmm::{ChooseError, Requirement, Unavailable};

use super::sandboxes::{mount_missing, not_running, volume_missing};
use super::{broken, denied, full, missing};
use msb_sdk::Error;

pub(super) fn errors() -> Vec<Error> {
    [starts(), kernels(), vmms(), others()]
        .into_iter()
        .flatten()
        .collect()
}

fn starts() -> Vec<Error> {
    let publish = |source: std::io::Error| {
        let publish = "127.0.0.1:8080:80".parse().expect("a port");
        StartError::Publish(PublishError { publish, source })
    };
    let ended = |log_tail: &[&str]| StartError::Ended {
        outcome: "exit code 1".to_owned(),
        reason: Some("the guest panicked".to_owned()),
        log_tail: log_tail.iter().map(|&line| line.to_owned()).collect(),
    };
    let io = |source| StartError::Io { action: "lock the sandbox", source };
    vec![
        ended(&["one", "two\u{1b}"]).into(),
        ended(&[]).into(),
        StartError::Silent { limit_s: 60, log_tail: vec!["one".to_owned()] }.into(),
        StartError::Mount(mount_missing()).into(),
        StartError::Volume(volume_missing()).into(),
        StartError::Agent(ClientError::OutOfTurn).into(),
        StartError::RootDisk(generations::BaseError::Runs { block: 7 }).into(),
        StartError::Kernel(KernelError::Missing { places: vec!["/k".into()] }).into(),
        StartError::BootDisk(BootDiskError { path: "/boot".into(), source: full() }).into(),
        StartError::Timeline(TimelineError { path: "/t".into(), source: denied() }).into(),
        StartError::Own(not_running()).into(),
        io(denied()).into(),
        io(broken()).into(),
        publish(std::io::ErrorKind::AddrInUse.into()).into(),
        publish(denied()).into(),
        publish(broken()).into(),
    ]
}

fn kernels() -> Vec<Error> {
    // The remedies of the others depend on the host's architecture.
    vec![KernelError::Missing { places: vec!["/k".into()] }.into()]
}

fn vmms() -> Vec<Error> {
    let missing = || Unavailable {
        reason: "there is no /dev/kvm".to_owned(),
        remedy: "load the module".to_owned(),
        requirement: Requirement::KvmDevice,
    };
    let unavailable = |vmm| ChooseError::Unavailable { vmm, source: missing() };
    vec![
        unavailable("krun").into(),
        unavailable("qemu").into(),
        ChooseError::NotBuilt { vmm: "krun" }.into(),
        ChooseError::None { tried: vec![("krun", missing()), ("qemu", missing())] }.into(),
    ]
}

/// Returns errors whose type says little about their kind.
fn others() -> Vec<Error> {
    let json = serde_json::from_str::<u8>("x").expect_err("no number");
    let hostname = "-".parse::<msb_sandbox_model::Hostname>().expect_err("no name");
    vec![
        full().into(),
        denied().into(),
        missing().into(),
        json.into(),
        hostname.into(),
        msb_runtime::NoCommand.into(),
        TimelineError { path: "/t".into(), source: full() }.into(),
        erofs_writer::OpenError::Io { offset_bytes: 0, source: missing() }.into(),
    ]
}
