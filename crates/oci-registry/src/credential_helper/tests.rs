use fs_err as fs;
use tempfile::TempDir;

use super::*;

/// Returns a helper that runs these lines of shell.
fn helper(script: &str, timeout: Duration) -> (TempDir, CredentialHelper) {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("helper");
    testkit::shell_program(&program, script).expect("written");
    let name = "test".to_owned();
    let helper = CredentialHelper {
        name,
        program,
        timeout,
    };
    (directory, helper)
}

async fn failure(script: &str) -> String {
    let (_directory, helper) = helper(script, Duration::from_secs(60));
    helper.get("a.io").await.expect_err("it fails").to_string()
}

#[tokio::test]
async fn what_a_failing_helper_says_is_kept_on_one_short_line() {
    let start = "the credential helper docker-credential-test failed";
    assert_eq!(failure("exit 1").await, start);
    assert_eq!(
        failure("echo locked; printf 'no bus\\033[31m' >&2; exit 1").await,
        format!("{start}: locked; no bus\\u{{1b}}[31m")
    );
    let long = failure("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1").await;
    assert!(long.len() < 300, "{}", long.len());
}

#[tokio::test]
async fn a_helper_without_a_credential_is_no_failure() {
    let script = "echo 'credentials not found in native keychain'; echo noise >&2; exit 1";
    let (_directory, helper) = helper(script, Duration::from_secs(60));
    assert_eq!(helper.get("a.io").await.expect("an answer"), None);
}

#[tokio::test]
async fn a_helper_that_hangs_is_killed() {
    // 5 s: the script has to have begun, on a busy machine too.
    let timeout = Duration::from_secs(5);
    let (directory, helper) = helper(
        "echo $$ > \"$0.pid\"; echo asking >&2; exec sleep 600",
        timeout,
    );
    let error = helper.get("a.io").await.expect_err("too late").to_string();
    assert!(
        error.contains("did not answer within 5 s: asking"),
        "{error}"
    );
    let pid = fs::read_to_string(directory.path().join("helper.pid")).expect("its number");
    let proc = format!("/proc/{}/stat", pid.trim());
    // Tokio reaps the killed process in the background.
    for _ in 0..1200 {
        match fs::read_to_string(&proc) {
            Ok(stat) if !stat.contains(") Z ") => {}
            _ => return,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("process {pid} still runs");
}

#[test]
fn a_user_has_half_a_minute() {
    let helper = CredentialHelper::named("test").expect("a name");
    assert_eq!(helper.timeout, Duration::from_secs(30));
}
