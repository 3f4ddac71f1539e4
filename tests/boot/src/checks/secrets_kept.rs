//! Values that change while a sandbox runs, starts and forks with and without them, and rules for requests.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use serde_json::{Value, json};
use test_support::{Speaking, TestEnv, describe, expect_code, finish, schema, spawn};

use super::disks::directory;
use super::secrets_scene::{API, OTHER, Scene, ask, expect_record, guest, records, told};

const NAME: &str = "checks-secrets-kept";
const FORK: &str = "checks-secrets-fork";
const RULES: &str = "checks-secrets-rules";
/// The time within which a source that is read each second has to be read, and a process to end.
const LIMIT: Duration = Duration::from_secs(90);
/// Prints the status of a request for each line of standard input, all on one connection.
const SEVERAL: &str = "
import http.client, os, sys
connection = http.client.HTTPSConnection(sys.argv[1], int(sys.argv[2]), timeout=60)
print('ready', flush=True)
for line in sys.stdin:
    connection.request('GET', line.strip(), headers={'Authorization': 'Bearer ' + os.environ['KEY']})
    answer = connection.getresponse()
    print(answer.status, answer.read().decode().strip(), flush=True)
";

/// Checks that a new value is in the next request of an open connection, that a removed one is in none, that a command
/// is run again, and that starts and forks have the placeholders and the authority, but need the values anew.
pub(super) fn changed(env: &TestEnv) -> Result<()> {
    let scene = Scene::new(env)?;
    let fresh = scene.source("fresh");
    fs::write(&fresh, "fresh-value-1")?;
    let port = scene.api.port;
    let key = format!("KEY@{API}:{port}");
    let repeated = format!(
        "name=FRESH,to={API}:{port},every=1s,in=header:X-Fresh,from=cmd:cat '{}'",
        fresh.display()
    );
    let options = ["--secret", &key, "--secret", &repeated];
    // The error comes before the boot, and names the secret and its source.
    let refused = scene.start(env, NAME, &options, &[])?;
    expect_code(&refused, 125)?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(
        said.contains("the secret KEY: the variable KEY is not set"),
        "{said}"
    );
    expect_code(&scene.start(env, NAME, &options, &["KEY"])?, 0)?;
    rotated(env, &scene)?;
    refreshed(env, &scene, &fresh)?;
    let before = trust(env, NAME)?;
    told(env, &["stop", "-t", "0", NAME])?;
    started(env, &scene)?;
    told(env, &["stop", "-t", "0", NAME])?;
    forked(env, &scene, &before)?;
    for name in [FORK, NAME] {
        told(env, &["rm", "-f", name])?;
    }
    await_end_of_refresh(env)
}

/// Checks new and removed values on one connection.
fn rotated(env: &TestEnv, scene: &Scene) -> Result<()> {
    let port = scene.api.port.to_string();
    let mut line = env.msb();
    line.args(["exec", "-i", NAME, "python3", "-c", SEVERAL, API, &port]);
    let mut speaking = Speaking::heard(spawn(&mut line)?, "ready")?;
    let mut asks = |path: &str| -> Result<String> {
        let input = speaking.child.stdin.as_mut().context("no pipe")?;
        writeln!(input, "{path}")?;
        let mut answer = String::new();
        speaking.stdout.read_line(&mut answer)?;
        Ok(answer)
    };
    ensure!(asks("/first")? == "200 good\n");
    let mut set = env.msb();
    set.args(["secret", "set", NAME, "KEY"])
        .env("KEY", "canary-of-the-environment");
    expect_code(&set.output()?, 0)?;
    ensure!(asks("/second")? == "200 good\n");
    let mut line = env.msb();
    let typed = line.args(["secret", "set", NAME, "KEY", "--from", "-"]);
    expect_code(&finish(spawn(typed)?, b"canary-of-standard-input\n")?, 0)?;
    ensure!(asks("/third")? == "200 good\n");
    let first = scene.api.last("/first")?;
    for (target, value) in [
        ("/first", Scene::value("KEY")),
        ("/second", "canary-of-the-environment".to_owned()),
        ("/third", "canary-of-standard-input".to_owned()),
    ] {
        let seen = scene.api.last(target)?;
        let expected = format!("Bearer {value}");
        ensure!(
            seen.header("authorization") == Some(expected.as_str()),
            "{target}: {}",
            seen.head
        );
        ensure!(
            seen.connection == first.connection,
            "{target} was on another connection"
        );
    }
    // The program ends with its input.
    expect_code(&finish(speaking.child, &[])?, 0)
}

/// Checks that a command is run again, and that no value is used after it has expired.
fn refreshed(env: &TestEnv, scene: &Scene, source: &Path) -> Result<()> {
    let placeholder = secret(env, NAME, "FRESH")?["placeholder"].clone();
    let question = json!({
        "host": API, "port": scene.api.port, "path": "/fresh", "headers": {"X-Fresh": placeholder},
    });
    until(|| {
        let answer = &ask(env, NAME, std::slice::from_ref(&question))?[0];
        ensure!(answer["status"] == 200, "{answer}");
        Ok(scene.api.last("/fresh")?.header("x-fresh") == Some("fresh-value-1"))
    })?;
    fs::write(source, "fresh-value-2")?;
    until(|| {
        ask(env, NAME, std::slice::from_ref(&question))?;
        Ok(scene.api.last("/fresh")?.header("x-fresh") == Some("fresh-value-2"))
    })?;
    fs::remove_file(source)?;
    until(|| {
        let answer = &ask(env, NAME, std::slice::from_ref(&question))?[0];
        let reason = answer["body"].as_str().unwrap_or_default();
        Ok(answer["status"] == 502 && reason.contains("FRESH has expired"))
    })?;
    ensure!(secret(env, NAME, "FRESH")?["state"] == "expired");
    fs::write(source, "fresh-value-3")?;
    until(|| {
        ask(env, NAME, std::slice::from_ref(&question))?;
        Ok(scene.api.last("/fresh")?.header("x-fresh") == Some("fresh-value-3"))
    })
}

/// Checks that a start needs the values again, and that a secret that was removed stays so.
fn started(env: &TestEnv, scene: &Scene) -> Result<()> {
    let start = |variables: &[&str]| {
        let line = || {
            let mut line = env.machine_command("start");
            line.arg(NAME);
            scene.with_values(line, variables)
        };
        env.retried(line, &[])
    };
    let refused = start(&[])?;
    ensure!(!refused.status.success(), "{}", describe(&refused));
    ensure!(
        describe(&refused).contains("the variable KEY is not set"),
        "{}",
        describe(&refused)
    );
    expect_code(&start(&["KEY"])?, 0)?;
    let question = json!({
        "host": API, "port": scene.api.port, "path": "/again", "headers": {"Authorization": "Bearer $KEY"},
    });
    let ask_again = || ask(env, NAME, std::slice::from_ref(&question));
    ensure!(ask_again()?[0]["status"] == 200);
    let sent = format!("Bearer {}", Scene::value("KEY"));
    ensure!(scene.api.last("/again")?.header("authorization") == Some(sent.as_str()));
    let placeholder = secret(env, NAME, "FRESH")?["placeholder"].clone();
    told(env, &["secret", "rm", NAME, "FRESH"])?;
    // Its source would be read again in this time.
    sleep(Duration::from_secs(3));
    let removed = json!({
        "host": API, "port": scene.api.port, "path": "/removed", "headers": {"X-Fresh": placeholder},
    });
    let answer = &ask(env, NAME, &[removed])?[0];
    let reason = answer["body"].as_str().unwrap_or_default();
    ensure!(
        answer["status"] == 502 && reason.contains("FRESH was removed"),
        "{answer}"
    );
    let fresh = told(env, &["secret", "ls", NAME])?;
    ensure!(!fresh.contains("FRESH") && fresh.contains("KEY"), "{fresh}");
    let unknown = env.msb().args(["secret", "set", NAME, "FRESH"]).output()?;
    ensure!(!unknown.status.success() && describe(&unknown).contains("has no secret FRESH"));
    Ok(())
}

/// Checks that a fork has the placeholder and the authority of its source, and gets the value.
fn forked(env: &TestEnv, scene: &Scene, before: &[String; 2]) -> Result<()> {
    told(env, &["fork", NAME, FORK])?;
    let line = || {
        let mut line = env.machine_command("start");
        line.arg(FORK);
        scene.with_values(line, &["KEY"])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    ensure!(trust(env, FORK)? == *before, "{before:?}");
    let question = json!({
        "host": API, "port": scene.api.port, "path": "/forked", "headers": {"Authorization": "Bearer $KEY"},
    });
    let answers = ask(env, FORK, &[question])?;
    ensure!(answers[0]["status"] == 200, "{answers:?}");
    let sent = format!("Bearer {}", Scene::value("KEY"));
    ensure!(scene.api.last("/forked")?.header("authorization") == Some(sent.as_str()));
    Ok(())
}

/// Returns the placeholder, and the digest of what the guest trusts.
fn trust(env: &TestEnv, sandbox: &str) -> Result<[String; 2]> {
    Ok([
        guest(env, sandbox, "echo $KEY")?,
        guest(env, sandbox, "sha256sum /etc/msb/ca.pem")?,
    ])
}

fn secret(env: &TestEnv, sandbox: &str, name: &str) -> Result<Value> {
    let listed = told(env, &["secret", "ls", "--format", "json", sandbox])?;
    schema::judge("secrets", &listed)?;
    let listed: Vec<Value> = serde_json::from_str(&listed)?;
    let found = listed.into_iter().find(|secret| secret["name"] == name);
    found.with_context(|| format!("{sandbox} has no secret {name}"))
}

/// Waits until something is so. Errors end the wait.
fn until(mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while !is_so()? {
        ensure!(
            Instant::now() < deadline,
            "it is not so within {} s",
            LIMIT.as_secs()
        );
        sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// Waits until the process that reads sources again has ended, which follows the end of the machine.
fn await_end_of_refresh(env: &TestEnv) -> Result<()> {
    let home = env.home().display().to_string();
    until(|| {
        for process in fs::read_dir("/proc")? {
            let line = std::fs::read(process?.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            if line.contains("__secrets") && line.contains(&home) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// Checks rules for requests, and that a sandbox without any of it has no authority and no variables.
pub(super) fn requests(env: &TestEnv) -> Result<()> {
    let plain = env.sh("test ! -e /etc/msb && env | grep -c -e _CA -e SSL_CERT || true")?;
    ensure!(plain == "0\n", "a sandbox without secrets: {plain}");
    let scene = Scene::new(env)?;
    let port = scene.api.port;
    let rule = format!("https://{API}:{port}/v1/*:GET,HEAD");
    let options = ["--network", "listed", "--net-allow", &rule];
    expect_code(&scene.start(env, RULES, &options, &[])?, 0)?;
    ensure!(
        !directory(env, RULES)?.join("secrets.sock").exists(),
        "there are no values to take"
    );
    let question = |method: &str, path: &str| json!({"host": API, "port": port, "path": path, "method": method});
    let mut unlisted = question("GET", "/v1/unlisted");
    unlisted["host"] = OTHER.into();
    let answers = ask(
        env,
        RULES,
        &[
            question("GET", "/v1/models"),
            question("POST", "/v1/models"),
            question("GET", "/v2/models"),
            question("GET", "/v1/../v2/models"),
            question("GET", "/v1/%2e%2e/v2/models"),
            question("GET", "//v1/models"),
            unlisted,
        ],
    )?;
    let [allowed, denied @ .., unlisted] = answers.as_slice() else {
        bail!("{answers:?}");
    };
    ensure!(
        allowed["status"] == 200 && allowed["body"] == "good\n",
        "{allowed}"
    );
    for denied in denied {
        ensure!(
            denied["status"] == 403 || denied["status"] == 400,
            "{denied}"
        );
    }
    // Its name is not resolved.
    let error = unlisted["error"].as_str().unwrap_or_default();
    ensure!(error.starts_with("gaierror"), "{unlisted}");
    let seen = scene.api.seen();
    ensure!(
        seen.len() == 1 && seen[0].target() == "/v1/models",
        "{seen:?}"
    );
    ensure!(seen[0].header("authorization").is_none(), "{seen:?}");
    until(|| {
        let records = records(env, RULES)?;
        let get =
            json!({"event": "http", "method": "GET", "path": "/v1/models", "verdict": "allowed"});
        let post = json!({"event": "http", "method": "POST", "path": "/v1/models", "status": 403, "verdict": "denied"});
        Ok(expect_record(&records, &get).is_ok() && expect_record(&records, &post).is_ok())
    })?;
    told(env, &["rm", "-f", RULES]).map(drop)
}
