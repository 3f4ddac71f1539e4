//! The common parts of the checks of secrets: servers, values, and questions of a guest.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Result, ensure};
use fs_err as fs;
use serde_json::Value;
use test_support::{TestEnv, describe, expect_code, finish, schema, spawn};

use crate::tls_upstream::{HostAuthority, Upstream, resolver};

/// The host of the secrets.
pub(super) const API: &str = "api.secrets.example";
/// A host that no secret names, on the same server.
pub(super) const OTHER: &str = "other.secrets.example";
/// A host of a secret whose server cannot prove it.
pub(super) const LIAR: &str = "liar.secrets.example";
/// Sends requests in a guest.
const ASK: &str = include_str!("secrets.py");

/// The servers, and the values of the secrets.
pub(super) struct Scene {
    authority: HostAuthority,
    /// Proves [`API`] and [`OTHER`].
    pub(super) api: Upstream,
    /// Proves [`OTHER`] alone.
    pub(super) liar: Upstream,
    resolver: String,
    /// A directory of this host for the sources of values.
    directory: PathBuf,
}

impl Scene {
    pub(super) fn new(env: &TestEnv) -> Result<Self> {
        let directory = env.work.join("secrets");
        fs::create_dir_all(&directory)?;
        let authority = HostAuthority::new(&directory)?;
        Ok(Self {
            api: Upstream::start(&authority, &[API, OTHER])?,
            liar: Upstream::start(&authority, &[OTHER])?,
            authority,
            resolver: resolver()?.to_string(),
            directory,
        })
    }

    /// Returns the path of a source of a value.
    pub(super) fn source(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the value of a secret, which is nowhere but in this program and the sources.
    pub(super) fn value(name: &str) -> String {
        format!("canary+{}/{}", name.to_lowercase(), std::process::id())
    }

    /// Gives a command of msb the authority of the servers, and the values of variables.
    pub(super) fn with_values(&self, line: Command, names: &[&str]) -> Command {
        let mut line = self.authority.trusted(line);
        for name in names {
            line.env(name, Self::value(name));
        }
        line
    }

    /// Starts a sandbox in the background. Its guest reaches both servers, by any name.
    pub(super) fn start(
        &self,
        env: &TestEnv,
        name: &str,
        options: &[&str],
        variables: &[&str],
    ) -> Result<Output> {
        let api = format!("127.0.0.1:{}", self.api.port);
        let liar = format!("127.0.0.1:{}", self.liar.port);
        let line = || {
            let _ = env.msb().args(["rm", "-f", name]).output();
            let mut all = vec!["-d", "--name", name, "--dns", &self.resolver];
            all.extend(["--net-allow", &api, "--net-allow", &liar]);
            all.extend(options);
            let line = env.run_command(&all, &["sleep", "3000"]);
            self.with_values(line, variables)
        };
        env.retried(line, &[])
    }
}

/// Has a guest send requests, and returns what became of each.
pub(super) fn ask(env: &TestEnv, sandbox: &str, questions: &[Value]) -> Result<Vec<Value>> {
    let mut line = env.msb();
    line.args(["exec", "-i", sandbox, "python3", "-c", ASK]);
    let input = serde_json::to_vec(questions)?;
    let output = finish(spawn(&mut line)?, &input)?;
    expect_code(&output, 0)?;
    let text = String::from_utf8(output.stdout)?;
    let answers = text.lines().map(serde_json::from_str);
    let answers: Vec<Value> = answers.collect::<Result<_, _>>()?;
    ensure!(answers.len() == questions.len(), "{text}");
    Ok(answers)
}

/// Returns the records of a sandbox's network, each of which has to fit the schema.
pub(super) fn records(env: &TestEnv, sandbox: &str) -> Result<Vec<Value>> {
    let text = told(
        env,
        &["logs", "--source", "network", "--format", "json", sandbox],
    )?;
    let mut records = Vec::new();
    for line in text.lines() {
        schema::judge("logs-network", line)?;
        records.push(serde_json::from_str(line)?);
    }
    Ok(records)
}

/// Checks that a record has these fields, and returns how many do.
pub(super) fn expect_record(records: &[Value], fields: &Value) -> Result<usize> {
    let wanted = fields.as_object();
    let has_all = |record: &&Value| {
        wanted.is_some_and(|fields| fields.iter().all(|(key, value)| record[key] == *value))
    };
    let count = records.iter().filter(has_all).count();
    ensure!(count > 0, "no {fields} in {records:#?}");
    Ok(count)
}

/// Runs a command in a guest, and returns its output.
pub(super) fn guest(env: &TestEnv, sandbox: &str, script: &str) -> Result<String> {
    told(env, &["exec", sandbox, "sh", "-c", script])
}

/// Runs msb, and returns its output.
pub(super) fn told(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = env.msb().args(words).output()?;
    ensure!(output.status.success(), "{words:?}: {}", describe(&output));
    Ok(String::from_utf8(output.stdout)?)
}
