//! Secrets that a guest uses and never has: placed, withheld, logged, and in nothing that msb keeps.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::{Value, json};
use test_support::{TestEnv, describe, expect_code, schema};

use super::disks::directory;
use super::secrets_canary::Canaries;
use super::secrets_scene::{API, LIAR, OTHER, Scene, ask, expect_record, guest, records, told};
use crate::forged::forge;

const NAME: &str = "checks-secrets";
/// The user of the guest's commands, which owns the file with a placeholder.
const USER: &str = "65534";
const FILE: &str = "/srv/keys/filed";
/// The time within which an event is a record.
const RECORDS_LIMIT: Duration = Duration::from_secs(30);
/// The secrets with values in variables of the host.
const VARIABLES: [&str; 2] = ["KEY", "FILED"];
/// All secrets. Of `HEADER` and `QUERY` the sources are a file and a command.
const SECRETS: [&str; 4] = ["KEY", "FILED", "HEADER", "QUERY"];

/// Checks where values are placed and where they are not, who gets them, what the log says, and that neither the guest
/// nor anything that msb keeps has them.
pub(super) fn used(env: &TestEnv) -> Result<()> {
    let scene = Scene::new(env)?;
    start(env, &scene)?;
    let placeholder = placeholders(env)?;
    placed(env, &scene)?;
    withheld(env, &scene)?;
    elsewhere(env, &scene, &placeholder)?;
    refused(env, &scene)?;
    logged(env, &scene)?;
    constrained(&directory(env, NAME)?, env)?;
    nowhere(env, &placeholder)?;
    told(env, &["rm", "-f", NAME]).map(drop)
}

fn start(env: &TestEnv, scene: &Scene) -> Result<()> {
    let header = scene.source("header");
    fs::write(&header, Scene::value("HEADER") + "\n")?;
    let query = scene.source("query");
    fs::write(&query, Scene::value("QUERY"))?;
    let (api, liar) = (scene.api.port, scene.liar.port);
    let secrets = [
        format!("KEY@{API}:{api},{LIAR}:{liar}"),
        format!("name=FILED,to={API}:{api},as=sk-ant-,file={FILE}"),
        format!(
            "name=HEADER,to={API}:{api},in=header:X-Acme-Key,from=file:{}",
            header.display()
        ),
        format!(
            "name=QUERY,to={API}:{api},in=query:key,from=cmd:cat '{}'",
            query.display()
        ),
    ];
    let mut options = vec!["--host-ca", "-u", USER, "--upper-size", "256M"];
    for secret in &secrets {
        options.extend(["--secret", secret]);
    }
    expect_code(&scene.start(env, NAME, &options, &VARIABLES)?, 0)
}

/// Checks what the guest has of its secrets. Returns the placeholder of `KEY`.
fn placeholders(env: &TestEnv) -> Result<String> {
    let key = guest(env, NAME, "printf %s \"$KEY\"")?;
    let is_placeholder = key
        .strip_prefix("msb-secret-")
        .is_some_and(|hex| hex.len() == 40);
    ensure!(is_placeholder, "{key}");
    let script = format!("stat -c '%u %a' {FILE}; cat {FILE}; echo; echo \"${{FILED-unset}}\"");
    let filed = guest(env, NAME, &script)?;
    let lines: Vec<&str> = filed.lines().collect();
    let [owner, placeholder, variable] = lines.as_slice() else {
        anyhow::bail!("{filed}");
    };
    ensure!(
        *owner == format!("{USER} 600") && *variable == "unset",
        "{filed}"
    );
    ensure!(
        placeholder.starts_with("sk-ant-") && placeholder.len() == 47,
        "{filed}"
    );
    let listed = told(env, &["secret", "ls", "--format", "json", NAME])?;
    schema::judge("secrets", &listed)?;
    let listed: Value = serde_json::from_str(&listed)?;
    let secrets = listed.as_array().context("no list")?;
    ensure!(secrets.len() == SECRETS.len(), "{listed}");
    let is_held = |secret: &Value| secret["state"] == "held";
    ensure!(secrets.iter().all(is_held), "{listed}");
    let of_key = secrets.iter().find(|secret| secret["name"] == "KEY");
    ensure!(
        of_key.is_some_and(|secret| secret["placeholder"] == key.as_str()),
        "{listed}"
    );
    Ok(key)
}

/// Returns a question for the host of the secrets.
fn question(scene: &Scene, path: &str, headers: &Value) -> Value {
    json!({"host": API, "port": scene.api.port, "path": path, "headers": headers})
}

/// Checks each place of a value: the usual headers, both halves of Basic, a header and a parameter of its own.
fn placed(env: &TestEnv, scene: &Scene) -> Result<()> {
    let basic = |path: &str, text: &str| {
        let mut question = question(scene, path, &json!({}));
        question["basic"] = text.into();
        question
    };
    let answers = ask(
        env,
        NAME,
        &[
            question(scene, "/bearer", &json!({"Authorization": "Bearer $KEY"})),
            question(scene, "/api-key", &json!({"X-Api-Key": "$FILED"})),
            basic("/password", "x-access-token:$KEY"),
            basic("/user", "$KEY:"),
            question(scene, "/acme", &json!({"X-Acme-Key": "$HEADER"})),
            question(scene, "/query?a=b&key=$QUERY", &json!({})),
        ],
    )?;
    for answer in &answers {
        ensure!(
            answer["status"] == 200 && answer["body"] == "good\n",
            "{answers:?}"
        );
    }
    let api = &scene.api;
    let key = Scene::value("KEY");
    let bearer = format!("Bearer {key}");
    ensure!(api.last("/bearer")?.header("authorization") == Some(bearer.as_str()));
    let filed = Scene::value("FILED");
    ensure!(api.last("/api-key")?.header("x-api-key") == Some(filed.as_str()));
    ensure!(api.last("/password")?.basic() == Some(format!("x-access-token:{key}")));
    ensure!(api.last("/user")?.basic() == Some(format!("{key}:")));
    let header = Scene::value("HEADER");
    ensure!(api.last("/acme")?.header("x-acme-key") == Some(header.as_str()));
    // A server decodes the parameter.
    let query = Scene::value("QUERY")
        .replace('+', "%2B")
        .replace('/', "%2F");
    api.last(&format!("/query?a=b&key={query}"))?;
    Ok(())
}

/// Checks that a server that sends a value back does not give it to the guest.
fn withheld(env: &TestEnv, scene: &Scene) -> Result<()> {
    let bearer = json!({"Authorization": "Bearer $KEY"});
    let mut decoded = question(scene, "/decoded", &json!({}));
    decoded["basic"] = "u:$KEY".into();
    let mut encoded = question(scene, "/echo", &json!({}));
    encoded["basic"] = "u:$KEY".into();
    let answers = ask(
        env,
        NAME,
        &[
            question(scene, "/echo", &bearer),
            question(scene, "/dripped", &bearer),
            question(scene, "/in-header", &bearer),
            decoded,
            encoded,
            // Without a value in the request, an answer passes.
            question(scene, "/echo", &json!({"X-Plain": "text"})),
        ],
    )?;
    let (plain, others) = answers.split_last().context("no answers")?;
    ensure!(plain["status"] == 200, "{plain}");
    let echoed = plain["body"].as_str().unwrap_or_default();
    ensure!(
        echoed.contains("x-plain: text") || echoed.contains("X-Plain: text"),
        "{plain}"
    );
    let canaries = Canaries::new(&SECRETS);
    for answer in others {
        canaries.expect_none("an answer", answer.to_string().as_bytes())?;
        let is_whole = answer["status"] == 200 && answer["error"].is_null();
        ensure!(!is_whole, "{answer}");
    }
    ensure!(others[2]["status"] == 502, "{}", others[2]);
    Ok(())
}

/// Checks that a placeholder elsewhere in a request, and one that goes to another host, is sent unchanged.
fn elsewhere(env: &TestEnv, scene: &Scene, placeholder: &str) -> Result<()> {
    let port = scene.api.port;
    let misplaced = json!({
        "User-Agent": "$KEY", "Cookie": "k=$KEY", "Authorization": "Bearer ${KEY}more", "X-Api-Key": "$KEY $KEY",
    });
    let bearer = json!({"Authorization": "Bearer $KEY"});
    let mut other = question(scene, "/other", &bearer);
    other["host"] = OTHER.into();
    let mut redirected = question(scene, &format!("/redirect?{OTHER}:{port}"), &bearer);
    redirected["follows"] = true.into();
    let answers = ask(
        env,
        NAME,
        &[
            question(scene, "/misplaced/$KEY?k=$KEY", &misplaced),
            other,
            redirected,
        ],
    )?;
    for answer in &answers {
        ensure!(answer["status"] == 200, "{answers:?}");
    }
    let seen = scene
        .api
        .last(&format!("/misplaced/{placeholder}?k={placeholder}"))?;
    ensure!(seen.head.matches(placeholder).count() == 7, "{}", seen.head);
    let sent = format!("Bearer {placeholder}");
    for target in ["/other", "/landed"] {
        let seen = scene.api.last(target)?;
        ensure!(
            seen.header("authorization") == Some(sent.as_str()),
            "{}",
            seen.head
        );
        ensure!(
            seen.header("host") == Some(format!("{OTHER}:{port}").as_str()),
            "{}",
            seen.head
        );
    }
    Ok(())
}

/// Checks what no server gets: a request for another host, and one to a server that cannot prove its name.
fn refused(env: &TestEnv, scene: &Scene) -> Result<()> {
    let fronting = json!({"Host": OTHER, "Authorization": "Bearer $KEY"});
    let mut liar = question(scene, "/lied", &json!({"Authorization": "Bearer $KEY"}));
    liar["host"] = LIAR.into();
    liar["port"] = scene.liar.port.into();
    let mut untrusting = question(scene, "/untrusting", &json!({}));
    untrusting["trusts_nothing"] = true.into();
    let before = scene.api.seen().len();
    let questions = [question(scene, "/fronting", &fronting), liar, untrusting];
    let answers = ask(env, NAME, &questions)?;
    ensure!(answers[0]["status"] == 421, "{}", answers[0]);
    ensure!(answers[1]["status"] == 502, "{}", answers[1]);
    let reason = answers[1]["body"].as_str().unwrap_or_default();
    ensure!(
        reason.contains("cannot verify") && reason.contains(LIAR),
        "{reason}"
    );
    let error = answers[2]["error"].as_str().unwrap_or_default();
    ensure!(
        error.contains("CERTIFICATE_VERIFY_FAILED"),
        "{}",
        answers[2]
    );
    ensure!(scene.api.seen().len() == before, "the host got one of them");
    ensure!(scene.liar.seen().is_empty(), "{:?}", scene.liar.seen());
    Ok(())
}

/// Checks the records of all of it, which are written a moment later.
fn logged(env: &TestEnv, scene: &Scene) -> Result<()> {
    let deadline = Instant::now() + RECORDS_LIMIT;
    loop {
        match has_records(env, scene) {
            Err(_) if Instant::now() < deadline => sleep(Duration::from_millis(200)),
            checked => return checked,
        }
    }
}

fn has_records(env: &TestEnv, scene: &Scene) -> Result<()> {
    let records = records(env, NAME)?;
    let http = |path: &str, secrets: &[&str]| {
        json!({
            "event": "http", "method": "GET", "host": API, "path": path, "status": 200, "version": "http/1.1",
            "secrets": secrets, "verdict": "allowed",
        })
    };
    for expected in [
        json!({"event": "tls", "sni": API, "ended": true}),
        json!({"event": "tls", "sni": OTHER, "ended": false}),
        http("/bearer", &["KEY"]),
        http("/api-key", &["FILED"]),
        http("/acme", &["HEADER"]),
        json!({"event": "http", "path": "/query", "query": true, "secrets": ["QUERY"]}),
        json!({"event": "http", "path": "/misplaced/…", "verdict": "allowed"}),
        json!({"event": "http", "path": "/fronting", "status": 421, "verdict": "denied"}),
        json!({"event": "secret.misplaced", "secret": "KEY", "place": "user-agent"}),
        json!({"event": "secret.misplaced", "secret": "KEY", "place": "path"}),
        json!({"event": "secret.reflected", "secret": "KEY", "host": API, "path": "/dripped"}),
        json!({"event": "secret.reflected", "secret": "KEY", "host": API, "path": "/in-header"}),
        json!({"event": "tls.refused", "sni": API, "alert": "unknown_ca"}),
        json!({"event": "upstream.certificate", "sni": LIAR}),
    ] {
        expect_record(&records, &expected)?;
    }
    let reflected = expect_record(&records, &json!({"event": "secret.reflected"}))?;
    ensure!(reflected == 5, "{reflected} answers were withheld");
    let connect = json!({
        "event": "connect", "proto": "tcp", "address": "127.0.0.1", "port": scene.api.port, "verdict": "allowed",
    });
    expect_record(&records, &connect)?;
    let text = told(env, &["logs", "--source", "network", NAME])?;
    ensure!(
        text.contains(&format!(" GET https://{API}/bearer: 200 after ")),
        "{text}"
    );
    ensure!(text.contains(", with KEY\n"), "{text}");
    Ok(())
}

/// Checks that the sandbox's authority can sign for the hosts of its secrets and for no others.
fn constrained(sandbox: &Path, env: &TestEnv) -> Result<()> {
    let verified = |host: &str| -> Result<bool> {
        let leaf = forge(sandbox, host, &env.work)?;
        let verify = Command::new("openssl")
            .args(["verify", "-CAfile"])
            .arg(sandbox.join("ca.pem"))
            .arg(leaf.certificate)
            .output()?;
        let said = describe(&verify);
        let is_constraint = said.contains("permitted subtree violation");
        ensure!(verify.status.success() != is_constraint, "{host}: {said}");
        Ok(verify.status.success())
    };
    ensure!(verified(API)?, "the authority does not sign for its host");
    for host in [OTHER, "www.google.com"] {
        ensure!(!verified(host)?, "the authority signs for {host}");
    }
    Ok(())
}

/// Checks that the values are in nothing that the guest, the processes and the files of msb have, also after the
/// process that holds them has crashed; and that the placeholder's files are no changes.
fn nowhere(env: &TestEnv, placeholder: &str) -> Result<()> {
    let canaries = Canaries::new(&SECRETS);
    let seen = guest(
        env,
        NAME,
        "env; cat /proc/*/environ 2> /dev/null | tr '\\0' '\\n'",
    )?;
    ensure!(seen.contains(placeholder), "{seen}");
    canaries.expect_none("the guest's variables", seen.as_bytes())?;
    let changes = told(env, &["diff", NAME])?;
    ensure!(
        !changes.contains("/etc/msb") && !changes.contains(FILE),
        "{changes}"
    );
    let network = canaries.look_at_processes(env, NAME)?;
    canaries.look_at_reports(env, NAME)?;
    told(env, &["exec", NAME, "sync"])?;
    canaries.look_at_files(env)?;
    let crashed = Command::new("kill")
        .args(["-SEGV", &network.to_string()])
        .status()?;
    ensure!(crashed.success(), "cannot signal process {network}");
    told(env, &["stop", "-t", "0", NAME])?;
    told(env, &["snapshot", "create", &format!("{NAME}@kept")])?;
    canaries.look_at_reports(env, NAME)?;
    canaries.look_at_files(env)
}
