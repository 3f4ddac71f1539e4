//! Options of sandboxes as JSON has them.

use msb_sdk::{SandboxOptions, Size, VmmChoice};

#[test]
fn options_survive_json() {
    let json = r#"{"image":"alpine","command":["sh","-c","true"],"memory":"512M","ports":["80"],
        "network":"listed","platform":"linux/amd64","vmm":"qemu","verify":"always",
        "pid":"host","init":true,"tmp":"1M","sysctls":{"net.core.somaxconn":"1"},
        "hostname":"web","pids":5,"restart":{"on-failure":{"retries_max":3}},"ulimits":{"nofile":1024,"core":{"soft":0,"hard":null}}}"#;
    let options: SandboxOptions = serde_json::from_str(json).expect("read");
    assert_eq!(options.memory, Some(Size::new(512 << 20)));
    assert_eq!(options.start.vmm, Some(VmmChoice::Qemu));
    assert_eq!(options.guest.tmp, Some(Size::new(1 << 20)));
    assert_eq!(options.guest.pid.as_str(), "host");
    assert_eq!(options.source.platform.as_deref(), Some("linux/amd64"));
    let written = serde_json::to_string(&options).expect("written");
    let again: SandboxOptions = serde_json::from_str(&written).expect("read");
    assert_eq!(again, options);
}

#[test]
fn an_unknown_option_is_refused() {
    let json = r#"{"image":"alpine","memroy":"512M"}"#;
    let error = serde_json::from_str::<SandboxOptions>(json).expect_err("unknown");
    assert!(error.to_string().contains("memroy"), "{error}");
}

#[test]
fn a_setting_of_the_guest_that_cannot_be_is_refused_with_its_reason() {
    let refused = |json: &str| {
        let error = serde_json::from_str::<SandboxOptions>(json).expect_err("refused");
        error.to_string()
    };
    let hostname = refused(r#"{"image":"alpine","hostname":"a b"}"#);
    assert!(hostname.contains("is not a host name"), "{hostname}");
    let setting = refused(r#"{"image":"alpine","sysctls":{"kernel.hostname":"a"}}"#);
    assert!(setting.contains("--hostname NAME sets it"), "{setting}");
    refused(r#"{"image":"alpine","pids":0}"#);
}
