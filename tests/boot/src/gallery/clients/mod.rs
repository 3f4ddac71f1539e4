//! Clients of HTTPS in an image with many of them: each trusts the sandbox's authority, and uses a secret.

mod layouts;
mod table;

use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::Value;
use test_fixtures::images::ServiceImage;
use test_fixtures::paths;
use test_support::{TestEnv, describe, succeed};

use crate::forged::forge;
use crate::tls_upstream::{HostAuthority, Upstream, resolver};
use table::{CLIENTS, Client, Trust};

pub(super) use layouts::{LAYOUTS, trusted};

/// The name of the image, and of the test.
pub(super) const NAME: &str = "clients";
/// The host of the secret.
const HOST: &str = "api.secrets.example";
/// A host that the sandbox's authority may not sign for.
const OTHER: &str = "other.secrets.example";
/// The clients that are shown a certificate of it: of OpenSSL, and of Go.
const CAREFUL: [&str; 3] = ["curl", "urllib", "go"];
/// The messages of OpenSSL and of Go.
const REFUSALS: [&str; 2] = ["permitted subtree violation", "not authorized to sign"];
/// The name of the sandbox.
const SANDBOX: &str = "clients";

const IMAGE: ServiceImage = ServiceImage {
    name: NAME,
    packages: &[
        "ant",
        "curl",
        "default-jre-headless",
        "faketime",
        "git",
        "libio-socket-ssl-perl",
        "nodejs",
        "php-cli",
        "python3-httpx",
        "python3-pip",
        "python3-requests",
        "rclone",
        "ruby",
        "wget",
    ],
    setup: "mkdir -p /srv/home; chmod 1777 /srv/home
echo '<project default=\"get\"><target name=\"get\">
<get src=\"${url}\" dest=\"/tmp/answer\" username=\"x\" password=\"${key}\"/>
</target></project>' > /srv/get.xml",
    config: &[
        "--config.cmd=sleep",
        "--config.cmd=3000",
        "--config.env=HOME=/srv/home",
    ],
};

/// A running sandbox with a secret, and the server of its host.
struct Scene {
    env: TestEnv,
    image: String,
    upstream: Upstream,
}

/// Has each client send a request with the secret, which the host gets.
pub(super) fn trusting() -> Result<String> {
    let scene = Scene::start(&IMAGE)?;
    let mut failures = Vec::new();
    for client in CLIENTS {
        let sent = scene.try_client(client);
        failures.extend(
            sent.err()
                .map(|error| format!("{}: {error:#}", client.name)),
        );
    }
    let forged = scene.refuse_forged();
    failures.extend(forged.err().map(|error| format!("{error:#}")));
    let listed = is_listed();
    failures.extend(listed.err().map(|error| format!("{error:#}")));
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    scene.end()?;
    Ok(format!("{} clients", CLIENTS.len()))
}

/// Checks that the document lists each client.
fn is_listed() -> Result<()> {
    let document = fs::read_to_string(paths::root().join("docs/secrets.md"))?;
    for client in CLIENTS {
        let row = client.row();
        ensure!(document.contains(&row), "docs/secrets.md lacks '{row}'");
    }
    Ok(())
}

fn value() -> String {
    format!("canary-of-clients-{}", std::process::id())
}

impl Scene {
    /// Starts a sandbox of an image.
    fn start(image: &ServiceImage) -> Result<Self> {
        let layout = image.layout()?;
        let env = TestEnv::with_guests(&format!("gallery-{}", image.name))?;
        let name = format!("localhost/gallery/{}:latest", image.name);
        env.home_msb().load(&layout, &name)?;
        let authority = HostAuthority::new(&env.work)?;
        let upstream = Upstream::start(&authority, &[HOST])?;
        let resolver = resolver()?.to_string();
        let secret = format!("KEY@{HOST}:{}", upstream.port);
        let line = || {
            let _ = env.msb().args(["rm", "-f", SANDBOX]).output();
            let mut line = env.machine_command("run");
            line.args(["--quiet", "-d", "--name", SANDBOX, "--cpus", "1"])
                .args(["--memory", "768M", "--pull", "never"])
                .args(["--dns", &resolver, "--net-allow", "127.0.0.1"])
                .args(["--secret", &secret, &name])
                .env("KEY", value());
            authority.trusted(line)
        };
        let started = env.retried(line, &[])?;
        ensure!(started.status.success(), "{}", describe(&started));
        Ok(Self {
            env,
            image: name,
            upstream,
        })
    }

    fn end(self) -> Result<()> {
        let Self { env, image, .. } = self;
        succeed(env.msb().args(["rm", "-f", SANDBOX]))?;
        succeed(env.msb().args(["image", "rm", &image]))?;
        env.expect_nothing_left()?;
        env.remove_work()
    }

    /// Has a client send the secret; one that needs a recipe is refused before it.
    fn try_client(&self, client: &Client) -> Result<()> {
        if let Trust::Recipe(_, script) = client.trust {
            let output = self.ask(client, HOST, &self.upstream)?;
            let printed = String::from_utf8_lossy(&output.stdout);
            ensure!(printed != "good\n", "it needs no recipe");
            let output = self.run(script, "")?;
            ensure!(output.status.success(), "{}", describe(&output));
        }
        let output = self.ask(client, HOST, &self.upstream)?;
        ensure!(output.stdout == b"good\n", "{}", describe(&output));
        let (bearer, value) = (format!("Bearer {}", value()), value());
        let path = format!("/{}", client.path);
        let seen = self.upstream.seen();
        let mut seen = seen.iter().filter(|seen| seen.target().starts_with(&path));
        let has_value = seen.any(|seen| {
            let basic = seen.basic().unwrap_or_default();
            seen.header("authorization") == Some(bearer.as_str()) || basic.ends_with(&value)
        });
        ensure!(has_value, "the host has seen no value");
        Ok(())
    }

    /// Shows clients a certificate of another host, signed with the key of the sandbox's authority.
    fn refuse_forged(&self) -> Result<()> {
        let forged = forge(&self.directory()?, OTHER, &self.env.work)?;
        let server = Upstream::with_files(&forged.certificate, &forged.key)?;
        for path in CAREFUL {
            let client = CLIENTS.iter().find(|client| client.path == path);
            let output = self.ask(client.context("no such client")?, OTHER, &server)?;
            let said = describe(&output);
            let is_refused = REFUSALS.iter().any(|refusal| said.contains(refusal));
            ensure!(
                is_refused,
                "{path} accepts another name's certificate: {said}"
            );
        }
        let seen = server.seen();
        ensure!(seen.is_empty(), "{seen:?}");
        Ok(())
    }

    /// Runs a client's script in the guest, for a URL of a server.
    fn ask(&self, client: &Client, host: &str, server: &Upstream) -> Result<Output> {
        let url = format!("https://{host}:{}/{}", server.port, client.path);
        self.run(client.script, &url)
    }

    fn run(&self, script: &str, argument: &str) -> Result<Output> {
        let mut line = self.env.msb();
        line.args(["exec", "--timeout", "120s", SANDBOX])
            .args(["sh", "-c", script, "sh", argument]);
        line.output().context("cannot run msb")
    }

    fn directory(&self) -> Result<PathBuf> {
        let output = self.env.msb().args(["inspect", SANDBOX]).output()?;
        ensure!(output.status.success(), "{}", describe(&output));
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let directory = report[0]["directory"].as_str();
        Ok(directory.context("no directory")?.into())
    }
}
