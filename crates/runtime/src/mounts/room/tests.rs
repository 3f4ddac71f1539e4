use super::*;
use crate::mounts::Staged;

const RO: StartOptions = StartOptions::Entry(DiskAccess::ReadOnly);
const RW: StartOptions = StartOptions::Entry(DiskAccess::ReadWrite);

fn mount(index: usize, read_only: bool, source: Source) -> Mount {
    Mount {
        target: format!("/{index}").parse().expect("a target"),
        read_only,
        source,
    }
}

/// Returns one mount for each letter: `d` directory, `f` file, `v` volume, `s` staged, `t` memory.
/// Upper-case letters are writable, lower-case letters read-only.
fn mounts(letters: &str) -> Vec<Mount> {
    let source = |letter: char| match letter.to_ascii_lowercase() {
        'd' => Source::Bind {
            directory: "/d".into(),
            rules: Vec::new(),
        },
        'f' => Source::BindFile { file: "/f".into() },
        'v' => Source::Anonymous { size_bytes: 0 },
        's' => Source::Staged(Staged {
            directory: Some("/s".into()),
            rules: Vec::new(),
            default_rules: true,
        }),
        _ => Source::Tmpfs {
            size_bytes: None,
            mode: None,
            exec: false,
        },
    };
    let letters = letters.chars().enumerate();
    let mounts =
        letters.map(|(index, letter)| mount(index, letter.is_ascii_lowercase(), source(letter)));
    mounts.collect()
}

#[test]
fn with_entries_volumes_are_devices_as_long_as_there_is_room() {
    let room = Room::for_qemu(true);
    for (letters, expected) in [
        ("", vec![]),
        ("t", vec![StartOptions::Guest]),
        ("D", vec![RW]),
        ("VV", vec![StartOptions::Device, StartOptions::Device]),
        (
            "DVtV",
            vec![RW, StartOptions::Device, StartOptions::Guest, RW],
        ),
        ("dVV", vec![RO, RW, RW]),
        ("dDv", vec![RO, RW, RO]),
        ("fF", vec![RO, RW]),
        ("VVV", vec![StartOptions::Device, RW, RW]),
        // The volumes that find no room need a share for each access.
        ("VVv", vec![RW, RW, RO]),
    ] {
        let places = room.places(&mounts(letters));
        assert_eq!(places.expect("room"), expected, "{letters}");
    }
}

#[test]
fn with_entries_there_is_room_for_all() {
    for letters in ["DDDDDDdddddd", "VVVVVVvvvvvv", "dDfFvVdDfFvVdDfFvV"] {
        for has_network in [false, true] {
            let room = Room::for_qemu(has_network);
            let places = room.places(&mounts(letters)).expect("room");
            assert!(devices(&places) <= room.devices, "{letters}: {places:?}");
        }
    }
}

#[test]
fn staged_directories_are_one_disk() {
    let (one, two) = (StartOptions::Staged(0), StartOptions::Staged(1));
    let (device, guest) = (StartOptions::Device, StartOptions::Guest);
    let (qemu, krun) = (Room::for_qemu, Room::for_krun);
    for (room, letters, expected) in [
        (qemu(true), "sS", vec![one, two]),
        (qemu(true), "SVS", vec![one, device, two]),
        (qemu(true), "SDS", vec![one, RW, two]),
        // The volumes share the only other device.
        (qemu(true), "SVV", vec![one, RW, RW]),
        (qemu(false), "SVV", vec![one, device, device]),
        (qemu(false), "SDdVS", vec![one, RW, RO, RW, two]),
        (qemu(false), "DsVtSv", vec![RW, one, RW, guest, two, RO]),
        (krun(true), "SDsV", vec![one, device, two, device]),
        (krun(false), "SDsVv", vec![one, device, two, device, device]),
    ] {
        let places = room.places(&mounts(letters)).expect("room");
        assert_eq!(places, expected, "{letters}");
        assert!(devices(&places) <= room.devices, "{letters}");
    }
    // However many there are, they count as one of the mounts that are too many.
    for (room, letters, refusal) in [
        (
            qemu(true),
            "SSSDd",
            "3 volumes and host directories are too many: with qemu and a network the limit is 2 (3",
        ),
        (
            krun(true),
            "SDSVv",
            "4 volumes and host directories are too many: with krun and a network the limit is 3 (4",
        ),
        (
            krun(false),
            "SDDVv",
            "5 volumes and host directories are too many: with krun the limit is 4;",
        ),
    ] {
        let refused = room.places(&mounts(letters)).expect_err("no room");
        let refused = refused.to_string();
        assert!(refused.starts_with(refusal), "{letters}: {refused}");
    }
}

#[test]
fn without_entries_each_is_a_device() {
    let room = Room::for_krun(true);
    let places = room.places(&mounts("DtvV")).expect("room");
    let expected = [
        StartOptions::Device,
        StartOptions::Guest,
        StartOptions::Device,
        StartOptions::Device,
    ];
    assert_eq!(places, expected);
    let refused = room.places(&mounts("DDvV")).expect_err("no room");
    let expected = "4 volumes and host directories are too many: with krun and a network the \
        limit is 3 (4 with --network none); --tmpfs mounts do not count, and the limit of QEMU \
        is higher (--vmm qemu, MSB_VMM=qemu)";
    assert_eq!(refused.to_string(), expected);
    let refused = Room::for_krun(false).places(&mounts("DDDDD"));
    let refused = refused.expect_err("no room").to_string();
    assert!(refused.contains("with krun the limit is 4;"), "{refused}");
    let refused = room.places(&mounts("F")).expect_err("a file");
    assert!(matches!(refused, MountError::NoFiles { .. }));
}
