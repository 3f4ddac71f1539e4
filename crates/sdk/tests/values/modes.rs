//! Changes of permission bits, as chmod has them.

use msb_sdk::ModeChange;

#[test]
fn modes_change_as_chmod_changes_them() {
    // The results of GNU chmod 9.1 under umask 022.
    for (text, before, after) in [
        ("755", 0o4600, 0o755),
        ("+x", 0o644, 0o755),
        ("u+x", 0o644, 0o744),
        ("go-rwx", 0o4777, 0o4700),
        ("a=r", 0o4755, 0o444),
        ("+w", 0o444, 0o644),
        ("u=rwx,g=rx,o=", 0o600, 0o750),
        ("u+s", 0o755, 0o4755),
        ("g+s", 0o755, 0o2755),
        ("+t", 0o755, 0o1755),
        ("a+X", 0o644, 0o644),
        ("a+X", 0o744, 0o755),
        ("o-w", 0o666, 0o664),
    ] {
        let change: ModeChange = text.parse().expect(text);
        assert_eq!(
            change.apply_to(before, false),
            after,
            "{text}: {:o}",
            change.apply_to(before, false)
        );
    }
    let change: ModeChange = "a+X".parse().expect("a mode");
    assert_eq!(change.apply_to(0o644, true), 0o755);
    for text in ["", "x", "u", "z+x", "u+z", "888", "77777", "+x,"] {
        assert!(text.parse::<ModeChange>().is_err(), "{text}");
    }
}
