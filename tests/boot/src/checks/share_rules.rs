//! Rules of a host directory that is shared, not staged.

use std::fs;

use anyhow::{Result, ensure};
use test_support::{TestEnv, expect_code};

use super::host_directory::HostDirectory;

/// Attempts of root in the guest, each with the answer that it gets.
const TRIES: &str = r#"cd /work
echo "listed: $(ls -A | tr '\n' ' ')"
cat .env 2>/dev/null || echo "hidden: not there"
echo stolen > .env 2>/dev/null || echo "hidden: not made"
cat keys/id 2>/dev/null || echo "denied: not read"
echo x >> docs/guide 2>/dev/null || echo "read-only: not written"
rm docs/guide 2>/dev/null || echo "read-only: not removed"
mv docs other 2>/dev/null || echo "read-only: not moved"
ln docs/guide link 2>/dev/null || echo "read-only: no other name"
mkdir -p docs/new 2>/dev/null || echo "read-only: nothing made"
cat docs/guide
echo changed > src/main && mv src/main src/moved && cat src/moved
mount -o remount,rw /work 2>/dev/null
echo x >> docs/guide 2>/dev/null || echo "remounted: not written"
"#;
const ANSWERS: &str = "\
listed: docs keys src 
hidden: not there
hidden: not made
denied: not read
read-only: not written
read-only: not removed
read-only: not moved
read-only: no other name
read-only: nothing made
guide
changed
remounted: not written
";

/// Checks that rules of a shared directory hold for root in the guest, and that a VMM without them is refused.
pub(super) fn hold(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let files = [
        (".env", "secret"),
        ("keys/id", "secret"),
        ("docs/guide", "guide\n"),
        ("src/main", "main\n"),
    ];
    for (name, content) in files {
        let path = host.0.join("project").join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, content)?;
    }
    let mount = format!("{}:/work", host.path("project"));
    let rules = [".env=hide", "/work/keys=deny", "docs=read-only"];
    let rules = rules.iter().flat_map(|rule| ["--rule", rule]);
    let mut options = vec!["--rm", "--network", "none", "-v", &mount];
    options.extend(rules);
    let run = || env.run_command(&options, &["sh", "-c", TRIES]);
    if env.vmm() == "krun" {
        let refused = run().output()?;
        let told = String::from_utf8_lossy(&refused.stderr);
        ensure!(
            refused.status.code() == Some(125) && told.contains("krun shares the whole"),
            "{told}"
        );
        return Ok(());
    }
    let output = env.retried(run, &[])?;
    expect_code(&output, 0)?;
    let told = String::from_utf8_lossy(&output.stdout);
    ensure!(told == ANSWERS, "{told}");
    ensure!(fs::read(host.0.join("project/.env"))? == b"secret");
    ensure!(fs::read(host.0.join("project/docs/guide"))? == b"guide\n");
    ensure!(fs::read(host.0.join("project/src/moved"))? == b"changed\n");
    Ok(())
}
