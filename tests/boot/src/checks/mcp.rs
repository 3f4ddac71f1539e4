//! The MCP server: the tools of a client that speaks the protocol line by line.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use test_support::{TestEnv, expect_code, spawn};

use super::durability::remove;
use super::host_directory::HostDirectory;

/// A sandbox of another session.
const OTHER: &str = "checks-mcp-other";
/// The time in which the server answers, a boot under emulation included.
const LIMIT: Duration = Duration::from_secs(600);
/// The number of attempts to boot a guest, which may be silent.
const BOOTS_MAX: u32 = 5;

/// Checks a session from its first sandbox to the removal of all.
pub(super) fn served(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    let project = host.0.join("project");
    fs::create_dir(&project)?;
    fs::write(project.join("main.txt"), "one\n")?;
    remove(env, OTHER)?;
    let other = env
        .msb()
        .args(["create", "--name", OTHER, env.image()])
        .output()?;
    expect_code(&other, 0)?;
    let mut client = Client::new(env, project.to_str().context("no text")?)?;
    let name = client.created()?;
    commands(&mut client)?;
    ended_commands(&mut client)?;
    files(&mut client)?;
    ways_back(&mut client)?;
    sandboxes(&mut client, &name)?;
    let main = || fs::read_to_string(project.join("main.txt"));
    applied(&mut client, || Ok(main()?))?;
    client.end()?;
    let left = env.msb().args(["ls", "--format", "json"]).output()?;
    let left = String::from_utf8(left.stdout)?;
    ensure!(!left.contains(&name) && left.contains(OTHER), "{left}");
    remove(env, OTHER)
}

fn commands(client: &mut Client) -> Result<()> {
    let command = json!({"command": "cat main.txt; echo no >&2; read x; echo $x$A; exit 3", "stdin": "in\n", "env": {"A": "1"}});
    let output = client.call("sandbox_exec", command)?;
    let expected = json!({
        "exit_code": 3, "stdout": "one\nin1\n", "stderr": "no\n", "truncated": 0, "timed_out": false,
    });
    ensure!(output == expected, "{output}");
    let command = "head -c 10485760 /dev/zero | tr '\\0' x";
    let output = client.call("sandbox_exec", json!({"command": command}))?;
    ensure!(
        output["truncated"] == 10_485_760 - 32_768,
        "{}",
        output["truncated"]
    );
    let length = output["stdout"].as_str().map_or(0, str::len);
    ensure!((32_768..33_000).contains(&length), "{length} bytes");
    Ok(())
}

/// Checks that commands end with their time and with their call, and that a client hears of those that go on.
fn ended_commands(client: &mut Client) -> Result<()> {
    let command = json!({"command": "sleep 1000 & sleep 1000", "timeout_s": 1});
    let output = client.call("sandbox_exec", command)?;
    ensure!(
        output["timed_out"] == true && output["exit_code"] == 124,
        "{output}"
    );
    client.expect_no_sleep()?;
    let id = client.begin_call(
        "sandbox_exec",
        &json!({"command": "echo started; sleep 1000 & sleep 1000"}),
        &json!({"progressToken": "of-sleep"}),
    )?;
    let (first, second) = (client.progress()?, client.progress()?);
    ensure!(
        first["progressToken"] == "of-sleep" && first["message"] == "started",
        "{first}"
    );
    ensure!(
        second["progress"].as_f64() > first["progress"].as_f64(),
        "{first}, {second}"
    );
    client.notify("notifications/cancelled", &json!({"requestId": id}))?;
    client.expect_no_sleep()
}

fn files(client: &mut Client) -> Result<()> {
    let new = json!({"path": "/work/deep/new.txt", "text": "new\n", "mode": "600"});
    let written = client.call("sandbox_write_file", new)?;
    ensure!(written == json!({"bytes": 4}), "{written}");
    let edit = json!({"path": "main.txt", "old_text": "one", "new_text": "two"});
    let edited = client.call("sandbox_edit_file", edit)?;
    ensure!(edited == json!({"replacements": 1, "bytes": 4}), "{edited}");
    let read = client.call(
        "sandbox_read_file",
        json!({"path": "/work/main.txt", "limit": 2}),
    )?;
    ensure!(
        read == json!({"text": "tw", "size": 4, "next_offset": 2}),
        "{read}"
    );
    let listed = client.call("sandbox_list_files", json!({"path": "/work/deep"}))?;
    let expected = json!({"name": "new.txt", "type": "file", "size": 4, "mode": "600"});
    ensure!(
        listed == json!({"entries": [expected], "total": 1}),
        "{listed}"
    );
    let diff = client.call("sandbox_diff", json!({"path": "/work"}))?;
    let changes = json!([
        {"path": "/work/deep", "kind": "added"},
        {"path": "/work/deep/new.txt", "kind": "added"},
        {"path": "/work/main.txt", "kind": "changed"},
    ]);
    let has = |change: &Value| {
        diff["changes"]
            .as_array()
            .is_some_and(|all| all.contains(change))
    };
    ensure!(
        changes.as_array().is_some_and(|all| all.iter().all(has)),
        "{diff}"
    );
    let patch = diff["patch"].as_str().unwrap_or_default();
    ensure!(patch.contains("\n-one\n+two\n"), "{patch}");
    let failure = client.failure("sandbox_read_file", json!({"path": "/no/such"}))?;
    ensure!(failure.contains("\nkind: path-not-found"), "{failure}");
    Ok(())
}

fn ways_back(client: &mut Client) -> Result<()> {
    let removal = json!({"command": "rm -r /work/deep", "snapshot": true});
    let removed = client.call("sandbox_exec", removal)?;
    ensure!(removed["snapshot"].is_string(), "{removed}");
    let undone = client.call("sandbox_undo", json!({}))?;
    ensure!(
        undone["commands"] == json!(["rm -r /work/deep"]),
        "{undone}"
    );
    let read = json!({"path": "/work/deep/new.txt"});
    let back = client.call("sandbox_read_file", read)?;
    ensure!(back["text"] == "new\n", "{back}");
    let taken = client.call("sandbox_snapshot", json!({"label": "clean"}))?;
    ensure!(taken == json!({"snapshot": "clean"}), "{taken}");
    client.call(
        "sandbox_write_file",
        json!({"path": "/root/x", "text": "x"}),
    )?;
    let diff = json!({"base": "clean", "path": "/root", "patch": false});
    let diff = client.call("sandbox_diff", diff)?;
    let paths = diff["changes"].to_string();
    ensure!(
        paths.contains("\"/root/x\"") && !paths.contains("/work"),
        "{diff}"
    );
    for (tool, arguments) in [
        ("sandbox_rollback", json!({"snapshot": "missing"})),
        ("sandbox_fork", json!({"snapshot": "missing"})),
        ("sandbox_diff", json!({"base": "missing"})),
    ] {
        let missing = client.failure(tool, arguments)?;
        ensure!(
            missing.contains("\nkind: not-found\nhint: give a name that sandbox_snapshot"),
            "{tool}: {missing}"
        );
    }
    let rolled = client.call("sandbox_rollback", json!({"snapshot": "clean"}))?;
    ensure!(rolled["undo"].is_string(), "{rolled}");
    let gone = client.failure("sandbox_read_file", json!({"path": "/root/x"}))?;
    ensure!(gone.contains("\nkind: path-not-found"), "{gone}");
    Ok(())
}

/// Checks that a session has its own sandboxes, a few of them.
fn sandboxes(client: &mut Client, name: &str) -> Result<()> {
    for tool in ["sandbox_read_file", "sandbox_list_files"] {
        let foreign = client.failure(tool, json!({"name": OTHER, "path": "/etc/passwd"}))?;
        ensure!(
            foreign.starts_with("no such sandbox in this session"),
            "{foreign}"
        );
    }
    let removal = client.failure("sandbox_remove", json!({"name": OTHER}))?;
    ensure!(
        removal.starts_with("no such sandbox in this session"),
        "{removal}"
    );
    let fork = client.booted("sandbox_fork", &json!({}))?;
    let fork = fork["name"].as_str().context("no name")?.to_owned();
    let read = json!({"name": fork, "path": "/work/main.txt"});
    let read = client.call("sandbox_read_file", read)?;
    ensure!(read["text"] == "two\n", "{read}");
    let listed = client.call("sandbox_list", json!({}))?;
    let sandboxes = listed["sandboxes"].as_array().context("no list")?;
    let names: Vec<&str> = sandboxes
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    ensure!(names == [name, &fork], "{listed}");
    let third = client.failure("sandbox_create", json!({}))?;
    ensure!(third.contains("\nkind: busy"), "{third}");
    let removed = client.call("sandbox_remove", json!({"name": fork}))?;
    ensure!(removed == json!({"removed": fork}), "{removed}");
    Ok(())
}

/// Checks that changes reach the host once its user agrees, and not before.
fn applied(client: &mut Client, main: impl Fn() -> Result<String>) -> Result<()> {
    let listed = client.call("sandbox_apply", json!({}))?;
    ensure!(
        listed["applied"] == false && listed["total"] == 3,
        "{listed}"
    );
    ensure!(main()? == "one\n", "the host was changed by a dry run");
    let write = json!({"plan": listed["plan"], "dry_run": false});
    let id = client.begin_call("sandbox_apply", &write, &json!({}))?;
    let question = client.question()?;
    let message = question["params"]["message"].as_str().unwrap_or_default();
    ensure!(message.contains("\nC main.txt"), "{message}");
    client.reply(&question, &json!({"action": "decline"}))?;
    let refused = client.answer(id)?;
    ensure!(refused["result"]["isError"] == true, "{refused}");
    ensure!(main()? == "one\n", "the host was changed without a yes");
    let again = client.failure("sandbox_apply", write)?;
    ensure!(again.contains("\nkind: not-found"), "{again}");
    let id = client.begin_call("sandbox_apply", &json!({"dry_run": false}), &json!({}))?;
    let question = client.question()?;
    client.reply(&question, &json!({"action": "accept", "content": {}}))?;
    let written = client.answer(id)?;
    let applied = &written["result"]["structuredContent"]["applied"];
    ensure!(*applied == true, "{written}");
    ensure!(main()? == "two\n", "the host does not have the change");
    Ok(())
}

/// A client, and `msb mcp` behind it.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    /// The lines of the server, each of which has to be a message.
    lines: Receiver<String>,
    next_id: u64,
    /// Notifications that were received before they were asked for.
    progress: Vec<Value>,
}

impl Client {
    fn new(env: &TestEnv, project: &str) -> Result<Self> {
        let memory = format!("{}M", env.memory_mib());
        let mut line = env.machine_command("mcp");
        line.args(["--cpus", "1", "--memory", &memory, "--network", "none"]);
        line.args(["--image", env.image(), "--max-sandboxes", "2", "--rm"]);
        line.args(["--dir", project]).env("MSB_LOG", "trace");
        let mut child = spawn(&mut line)?;
        let stdout = child.stdout.take().context("no pipe")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            stdin: child.stdin.take(),
            child,
            lines,
            next_id: 1,
            progress: Vec::new(),
        };
        let greeting = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "boot", "version": "1"},
        });
        let id = client.begin("initialize", &greeting)?;
        let greeting = client.answer(id)?;
        ensure!(
            greeting["result"]["serverInfo"]["name"] == "msb",
            "{greeting}"
        );
        client.notify("notifications/initialized", &json!({}))?;
        Ok(client)
    }

    /// Creates the session's sandbox, and returns its name.
    fn created(&mut self) -> Result<String> {
        let created = self.booted("sandbox_create", &json!({}))?;
        ensure!(created["staged"][0]["path"] == "/work", "{created}");
        let digest = created["image_digest"].as_str().unwrap_or_default();
        ensure!(digest.starts_with("sha256:"), "{created}");
        let name = created["name"].as_str().context("no name")?;
        Ok(name.to_owned())
    }

    /// Calls a tool that boots a guest, again while the guest is silent.
    fn booted(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        for _ in 0..BOOTS_MAX {
            let id = self.begin_call(tool, arguments, &json!({}))?;
            let answer = self.answer(id)?;
            let text = answer.to_string();
            if !text.contains("did not answer within") {
                ensure!(answer["result"]["isError"] != true, "{text}");
                return Ok(answer["result"]["structuredContent"].clone());
            }
        }
        bail!("no guest answered {tool}")
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let id = self.begin_call(tool, &arguments, &json!({}))?;
        let answer = self.answer(id)?;
        let result = &answer["result"];
        ensure!(result["isError"] == false, "{tool} {arguments}: {answer}");
        Ok(result["structuredContent"].clone())
    }

    /// Calls a tool that has to fail, and returns the text of its failure.
    fn failure(&mut self, tool: &str, arguments: Value) -> Result<String> {
        let id = self.begin_call(tool, &arguments, &json!({}))?;
        let answer = self.answer(id)?;
        ensure!(
            answer["result"]["isError"] == true,
            "{tool} {arguments}: {answer}"
        );
        let text = answer["result"]["content"][0]["text"].as_str();
        Ok(text.context("no text")?.to_owned())
    }

    fn begin_call(&mut self, tool: &str, arguments: &Value, meta: &Value) -> Result<u64> {
        let call = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.begin("tools/call", &call)
    }

    fn begin(&mut self, method: &str, parameters: &Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
        self.send(&request)?;
        Ok(id)
    }

    fn notify(&mut self, method: &str, parameters: &Value) -> Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": parameters}))
    }

    fn reply(&mut self, request: &Value, result: &Value) -> Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the client has ended")?;
        stdin.write_all(format!("{message}\n").as_bytes())?;
        Ok(stdin.flush()?)
    }

    /// Returns the answer to a request.
    fn answer(&mut self, id: u64) -> Result<Value> {
        self.next(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Returns the next question to the user.
    fn question(&mut self) -> Result<Value> {
        self.next(|message| message["method"] == "elicitation/create")
    }

    /// Returns the next report of progress.
    fn progress(&mut self) -> Result<Value> {
        if !self.progress.is_empty() {
            return Ok(self.progress.remove(0));
        }
        let report = self.next(|message| message["method"] == "notifications/progress")?;
        Ok(report["params"].clone())
    }

    fn next(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = match line {
                Ok(line) => line,
                Err(error) => bail!("{error}: {}", self.said()),
            };
            let message: Value = serde_json::from_str(&line)
                .with_context(|| format!("standard output has no message: {line:?}"))?;
            if is_it(&message) {
                return Ok(message);
            }
            match message["method"].as_str() {
                Some("notifications/progress") => self.progress.push(message["params"].clone()),
                Some("notifications/cancelled") => {}
                _ => bail!("unexpected: {message}"),
            }
        }
    }

    /// Waits until no process named sleep is left.
    fn expect_no_sleep(&mut self) -> Result<()> {
        let count = "cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^sleep$'; true";
        let deadline = Instant::now() + LIMIT;
        loop {
            let output = self.call("sandbox_exec", json!({"command": count}))?;
            if output["stdout"] == "0\n" {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "{output}");
        }
    }

    /// Returns what the server has printed besides messages, once it has ended.
    fn said(&mut self) -> String {
        self.stdin = None;
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        said
    }

    /// Ends the session, and waits for the server's end.
    fn end(mut self) -> Result<()> {
        self.stdin = None;
        let status = self.child.wait()?;
        ensure!(status.success(), "{status}: {}", self.said());
        let more: Vec<String> = self.lines.iter().collect();
        ensure!(more.is_empty(), "{more:?}");
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
