//! Hosts with their own certificate authority.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;
use super::host_directory::HostDirectory;

const NAME: &str = "checks-authorities";
/// The name under which a guest connects to the host's loopback.
const HOST: &str = "host.msb.internal";
/// Connects to a server over TLS with the sandbox's environment, and again with the image's alone.
const ASK: &str = "
import os, sys, urllib.request
def ask():
    try:
        return urllib.request.urlopen(sys.argv[1], timeout=60).status
    except OSError as error:
        return 'refused' if 'CERTIFICATE_VERIFY_FAILED' in str(error) else error
print(ask(), os.environ['PIP_CERT'], os.environ['CURL_CA_BUNDLE'])
os.environ.pop('SSL_CERT_FILE')
print(ask())
";
const SEEN: &str = "200 /etc/msb/ca.pem /own\nrefused\n";

/// Checks that `--host-ca` makes a guest trust the host's authority. It does so from the first
/// boot, for any user.
pub(super) fn trusted(env: &TestEnv) -> Result<()> {
    let directory = HostDirectory::new(env)?;
    let authority = directory.path("ca.pem");
    certificates(&directory)?;
    let server = Server::start(&directory)?;
    let allowed = format!("127.0.0.1:{}", server.port);
    let address = format!("https://{HOST}:{}/", server.port);
    let options = [
        "--name",
        NAME,
        "--host-ca",
        "-u",
        "65534",
        "-e",
        "CURL_CA_BUNDLE=/own",
        "--net-allow",
        &allowed,
    ];
    let first = || {
        let _ = remove(env, NAME);
        let mut line = env.run_command(&options, &["python3", "-c", ASK, &address]);
        line.env("SSL_CERT_FILE", &authority)
            .env_remove("SSL_CERT_DIR");
        line
    };
    let again = || {
        let mut line = env.machine_command("start");
        line.args(["--attach", NAME]);
        line
    };
    for output in [env.retried(first, &[])?, env.retried(again, &[])?] {
        expect_code(&output, 0)?;
        ensure!(output.stdout == SEEN.as_bytes(), "{}", describe(&output));
    }
    remove(env, NAME)
}

/// Makes an authority, `ca.pem`, and a certificate that it signs, `server.pem`, with their keys.
fn certificates(directory: &HostDirectory) -> Result<()> {
    let authority = ["-subj", "/CN=checks", "-out", "ca.pem", "-keyout", "ca.key"];
    let name = format!("subjectAltName=DNS:{HOST}");
    let server = [
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-subj",
        "/CN=server",
        "-addext",
        &name,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-out",
        "server.pem",
        "-keyout",
        "server.key",
    ];
    for arguments in [&authority[..], &server] {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"])
            .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(arguments)
            .current_dir(&directory.0)
            .output()
            .context("cannot run openssl")?;
        ensure!(made.status.success(), "openssl req: {}", describe(&made));
    }
    Ok(())
}

/// A server that speaks TLS on this host's loopback.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(directory: &HostDirectory) -> Result<Self> {
        let mut process = Command::new("openssl")
            .args(["s_server", "-www", "-accept", "127.0.0.1:0"])
            .args(["-cert", "server.pem", "-key", "server.key"])
            .current_dir(&directory.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run openssl")?;
        let stdout = process.stdout.take().context("no standard output")?;
        // Dropping this value ends the process, also after an error.
        let mut server = Self { process, port: 0 };
        for line in BufReader::new(stdout).lines() {
            if let Some(address) = line?.strip_prefix("ACCEPT ") {
                let port = address.rsplit(':').next().unwrap_or_default();
                server.port = port.parse().with_context(|| address.to_owned())?;
                return Ok(server);
            }
        }
        bail!("openssl s_server does not say where it listens")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
