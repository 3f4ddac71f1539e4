//! Clients of HTTPS in an image with many of them: each trusts the sandbox's authority, and uses a secret.

use anyhow::{Context as _, Result, ensure};
use test_fixtures::images::ServiceImage;
use test_support::{TestEnv, describe, succeed};

use crate::tls_upstream::{BRANCH, HostAuthority, Upstream, resolver};

/// The name of the image, and of the test.
pub(super) const NAME: &str = "clients";
/// The host of the secret.
const HOST: &str = "api.secrets.example";
/// The name of the sandbox.
const SANDBOX: &str = "clients";

const IMAGE: ServiceImage = ServiceImage {
    name: NAME,
    packages: &[
        "curl",
        "git",
        "python3-requests",
        "python3-httpx",
        "nodejs",
        "rclone",
    ],
    setup: "mkdir -p /srv/home; chmod 1777 /srv/home",
    config: &[
        "--config.cmd=sleep",
        "--config.cmd=3000",
        "--config.env=HOME=/srv/home",
    ],
};

/// A client: its name, which is the path of its request, and a script that sends it to `$1` and prints the answer.
type Client = (&'static str, &'static str);

/// The clients that send the secret as `Authorization: Bearer`. rclone stands for programs in Go.
const CLIENTS: &[Client] = &[
    ("curl", "curl -fsS -H \"Authorization: Bearer $KEY\" \"$1\""),
    (
        "urllib",
        "python3 -c 'import os, sys, urllib.request as u
request = u.Request(sys.argv[1], headers={\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]})
print(u.urlopen(request).read().decode(), end=\"\")' \"$1\"",
    ),
    (
        "requests",
        "python3 -c 'import os, sys, requests
print(requests.get(sys.argv[1], headers={\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]}).text, end=\"\")' \"$1\"",
    ),
    (
        "httpx",
        "python3 -c 'import os, sys, httpx
print(httpx.get(sys.argv[1], headers={\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]}).text, end=\"\")' \"$1\"",
    ),
    (
        "node",
        "node -e 'fetch(process.argv[1], {headers: {authorization: \"Bearer \" + process.env.KEY}})
.then(answer => answer.text()).then(text => process.stdout.write(text))' \"$1\"",
    ),
    (
        "go",
        "rclone copyurl --stdout --retries 1 --header \"Authorization: Bearer $KEY\" \"$1\"",
    ),
];
/// Lists the branches of a repository, with a helper that has the secret.
const GIT: &str = "GIT_TERMINAL_PROMPT=0 git \
    -c credential.helper='!f() { echo username=x-access-token; echo \"password=$KEY\"; }; f' ls-remote \"$1\"";

/// Has each client send a request with the secret, which the host gets.
pub(super) fn trusting() -> Result<String> {
    let layout = IMAGE.layout()?;
    let env = TestEnv::with_guests("gallery-clients")?;
    let image = "localhost/gallery/clients:latest";
    env.home_msb().load(&layout, image)?;
    let authority = HostAuthority::new(&env.work)?;
    let upstream = Upstream::start(&authority, &[HOST])?;
    start(&env, &authority, upstream.port, image)?;
    let value = value();
    let mut failures = Vec::new();
    for &(name, script) in CLIENTS {
        let sent = ask(&env, script, &upstream, name).and_then(|answer| {
            ensure!(answer == "good\n", "it printed {answer:?}");
            let seen = upstream.last(&format!("/{name}"))?;
            let expected = format!("Bearer {value}");
            ensure!(
                seen.header("authorization") == Some(expected.as_str()),
                "{}",
                seen.head
            );
            Ok(())
        });
        failures.extend(sent.err().map(|error| format!("{name}: {error:#}")));
    }
    let listed = ask(&env, GIT, &upstream, "repository").and_then(|answer| {
        ensure!(answer.contains(BRANCH), "it printed {answer:?}");
        let seen = upstream.seen();
        let credential = Some(format!("x-access-token:{value}"));
        ensure!(
            seen.iter().any(|seen| seen.basic() == credential),
            "{seen:?}"
        );
        Ok(())
    });
    failures.extend(listed.err().map(|error| format!("git: {error:#}")));
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    succeed(env.msb().args(["rm", "-f", SANDBOX]))?;
    succeed(env.msb().args(["image", "rm", image]))?;
    env.expect_nothing_left()?;
    env.remove_work()?;
    Ok(format!("{} clients", CLIENTS.len() + 1))
}

fn value() -> String {
    format!("canary-of-clients-{}", std::process::id())
}

fn start(env: &TestEnv, authority: &HostAuthority, port: u16, image: &str) -> Result<()> {
    let resolver = resolver()?.to_string();
    let allowed = format!("127.0.0.1:{port}");
    let secret = format!("KEY@{HOST}:{port}");
    let line = || {
        let _ = env.msb().args(["rm", "-f", SANDBOX]).output();
        let mut line = env.machine_command("run");
        line.args([
            "--quiet", "-d", "--name", SANDBOX, "--cpus", "1", "--memory", "768M",
        ])
        .args([
            "--pull",
            "never",
            "--dns",
            &resolver,
            "--net-allow",
            &allowed,
        ])
        .args(["--secret", &secret, image])
        .env("KEY", value());
        authority.trusted(line)
    };
    let started = env.retried(line, &[])?;
    ensure!(started.status.success(), "{}", describe(&started));
    Ok(())
}

/// Runs a client's script in the guest, and returns what it printed.
fn ask(env: &TestEnv, script: &str, upstream: &Upstream, path: &str) -> Result<String> {
    let url = format!("https://{HOST}:{}/{path}", upstream.port);
    let mut line = env.msb();
    line.args([
        "exec",
        "--timeout",
        "120s",
        SANDBOX,
        "sh",
        "-c",
        script,
        "sh",
        &url,
    ]);
    let output = line.output().context("cannot run msb")?;
    ensure!(output.status.success(), "{}", describe(&output));
    Ok(String::from_utf8(output.stdout)?)
}
