use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[tokio::test]
async fn a_fork_has_the_authority_of_its_source_and_its_own_files() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home, &[7; 8192]);
    fs::write(sandbox.files.ca_pem(), "certificate").expect("written");
    fs::write(sandbox.files.ca_key(), "key").expect("written");
    let origin = sandbox.origin(None, false).await.expect("opened");
    let forked = origin.fork(&home, &[Some("b".to_owned())]).expect("forked");
    drop(origin);
    let [fork] = forked.sandboxes.as_slice() else {
        panic!("{forked:?}");
    };
    for (path, content) in [
        (fork.files.ca_pem(), "certificate"),
        (fork.files.ca_key(), "key"),
    ] {
        assert_eq!(fs::read_to_string(&path).expect("read"), content);
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{}", path.display());
    }
    let directory = fork.files.directory.clone();
    fork.clone().remove().expect("removed");
    assert!(!directory.exists());
    // A sandbox that lacks its key is not forked: the fork could not start.
    fs::remove_file(sandbox.files.ca_key()).expect("removed");
    let error = sandbox.origin(None, false).await.expect_err("no key");
    assert!(matches!(error, SnapshotError::Io(_)), "{error}");
}
