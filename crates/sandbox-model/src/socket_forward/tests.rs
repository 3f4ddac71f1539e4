use super::*;

fn read(text: &str) -> Result<SocketForward, InvalidSocketForward> {
    text.parse()
}

#[test]
fn a_forward_has_two_paths_and_options() {
    let plain = read("/run/a.sock:/tmp/b.sock").expect("a forward");
    assert_eq!(plain.host_path(), "/run/a.sock");
    assert_eq!(plain.guest_path(), "/tmp/b.sock");
    assert_eq!((plain.mode(), plain.owner()), (0o666, String::new()));
    let owned = read("/a:/b:mode=600,owner=me.wheel").expect("a forward");
    assert_eq!(
        (owned.mode(), owned.owner()),
        (0o600, "me:wheel".to_owned())
    );
    let json = serde_json::to_string(&owned).expect("written");
    assert_eq!(json, "\"/a:/b:mode=600,owner=me.wheel\"");
    assert_eq!(
        serde_json::from_str::<SocketForward>(&json).expect("read"),
        owned
    );
}

#[test]
fn other_texts_are_refused() {
    let long = format!("/{}:/b", "a".repeat(107));
    for text in [
        "",
        "/a",
        "a:/b",
        "/a:b",
        "/a:/b:",
        "/a:/b/",
        "/a:/b:mode=888",
        "/a:/b:mode=1777",
        "/a:/b:owner=",
        "/a:/b:owner=.x",
        "/a:/b:owner=a b",
        "/a:/b:ro",
        "/a:/b:mode=600:x",
        "/a:/b\n",
        &long,
    ] {
        let refused = read(text).expect_err(text);
        assert!(
            matches!(refused, InvalidSocketForward::Form { .. }),
            "{text}"
        );
    }
}

#[test]
fn the_sockets_of_container_engines_are_refused() {
    for path in [
        "/var/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
    ] {
        let refused = read(&format!("{path}:/tmp/x")).expect_err(path);
        assert!(refused.to_string().contains("it is the host"), "{refused}");
        assert!(serde_json::from_str::<SocketForward>(&format!("\"{path}:/x\"")).is_err());
    }
}
