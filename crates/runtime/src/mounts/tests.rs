use super::*;

fn mount(target: &str, source: Source) -> Mount {
    Mount {
        target: target.parse().expect("a target"),
        read_only: false,
        source,
    }
}

fn home() -> Home {
    Home::new("/no/such/home")
}

fn tmpfs(target: &str) -> Mount {
    let source = Source::Tmpfs {
        size_bytes: None,
        mode: None,
        exec: false,
    };
    mount(target, source)
}

fn volume(target: &str, name: &str) -> Mount {
    let volume = name.parse().expect("a name");
    mount(target, Source::Volume { volume })
}

#[test]
fn what_lies_deeper_comes_later() {
    let mounts = [tmpfs("/a/b/c"), tmpfs("/z"), volume("/a/b", "v")];
    let arranged = arrange(&home(), mounts.into(), None).expect("good mounts");
    let targets: Vec<_> = arranged.iter().map(|mount| mount.target.as_str()).collect();
    assert_eq!(targets, ["/z", "/a/b", "/a/b/c"]);
}

#[test]
fn nothing_is_named_twice() {
    let twice = arrange(&home(), vec![tmpfs("/a"), volume("/a/", "v")], None);
    assert!(matches!(twice, Err(MountError::TargetTwice { .. })));
    assert!(arrange(&home(), vec![tmpfs("/run")], None).is_ok());
    let kept = arrange(&home(), vec![volume("/run", "v")], None);
    assert!(matches!(kept, Err(MountError::OfMemory { .. })));
    let twice = arrange(&home(), vec![volume("/a", "v"), volume("/b", "v")], None);
    assert!(matches!(twice, Err(MountError::VolumeTwice { .. })));
}

#[test]
fn mounts_are_kept_as_json() {
    let mounts = vec![volume("/a", "v"), tmpfs("/b")];
    let json = serde_json::to_value(&mounts).expect("written");
    assert_eq!(json[0]["type"], "volume");
    assert_eq!(json[0]["volume"], "v");
    let read: Vec<Mount> = serde_json::from_value(json).expect("read");
    assert_eq!(read, mounts);
}
