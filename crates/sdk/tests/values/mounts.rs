//! Mounts and networks as JSON has them.

use msb_sdk::{Host, Mount, Network, Port, Size};

#[test]
fn mounts_are_read_from_json() {
    let json = r#"{"type":"bind","source":"/src","target":"/a","read_only":true}"#;
    let mount: Mount = serde_json::from_str(json).expect("read");
    assert_eq!(mount, Mount::bind("/src", "/a").read_only());
    let json = r#"{"type":"tmpfs","target":"/s","size":"16M"}"#;
    let mount: Mount = serde_json::from_str(json).expect("read");
    assert_eq!(mount.size, Some(Size::new(16 << 20)));
    assert!(serde_json::from_str::<Mount>(r#"{"type":"tmpfs","target":"/s","sizes":1}"#).is_err());
}

#[test]
fn rules_are_read_as_text_and_as_objects() {
    let json = r#"{"type":"staged","source":"/a","target":"/b","default_rules":false,
        "rules":["target=hide",{"path":"docs","state":"read-only"}]}"#;
    let mount: Mount = serde_json::from_str(json).expect("read");
    let staged = Mount::staged("/a", "/b").without_default_rules();
    let staged = staged.rule("target=hide").expect("a rule");
    assert_eq!(mount, staged.rule("docs=read-only").expect("a rule"));
    let written = serde_json::to_string(&mount).expect("written");
    assert_eq!(
        serde_json::from_str::<Mount>(&written).expect("read"),
        mount
    );
    for rules in [
        r#""target=hide""#,
        "[1]",
        r#"["target"]"#,
        r#"[{"path":"a","state":"b"}]"#,
    ] {
        let json = format!(r#"{{"type":"staged","source":"/a","target":"/b","rules":{rules}}}"#);
        assert!(serde_json::from_str::<Mount>(&json).is_err(), "{rules}");
    }
}

#[test]
fn ports_have_two_forms() {
    let text: Port = serde_json::from_str("\"8080:80\"").expect("read");
    assert_eq!(text, Port::new(80, Host::port(8080)));
    let json = r#"{"guest_port":53,"protocol":"udp"}"#;
    let whole: Port = serde_json::from_str(json).expect("read");
    assert_eq!(whole, Port::new(53, Host::any()).udp());
    assert!(serde_json::from_str::<Port>("\"80-90\"").is_err());
}

#[test]
fn a_network_has_two_forms() {
    let mode: Network = serde_json::from_str("\"none\"").expect("read");
    assert_eq!(mode, Network::none());
    let whole = r#"{"mode":"listed","allow":["*.pypi.org"]}"#;
    let whole: Network = serde_json::from_str(whole).expect("read");
    assert_eq!(whole, Network::listed().allow("*.pypi.org"));
    assert!(serde_json::from_str::<Network>(r#"{"modes":"none"}"#).is_err());
}
