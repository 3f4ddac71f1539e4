use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context as _, Result, ensure};
use msb_sdk::Sandbox;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::conditions;
use super::running::Running;
use crate::msb::Msb;
use crate::report::{Cell, Plot, Row, Table, Target, Unit};
use crate::timing;

/// Number of commands that make one figure.
const COMMANDS: u32 = 20;
/// The most time that a tool adds to a command, in seconds.
const ADDED_MAX_S: f64 = 0.002;
/// The command, for the guest's shell.
const LINE: &str = "true";

/// Measures a command by the SDK, and by a tool of `msb mcp`, in turn.
pub(super) fn measure(sandbox: &Running, msb: &Msb, runs: usize) -> Result<(Table, Vec<Target>)> {
    let mut library = Library::connect(msb, sandbox.name())?;
    let mut server = Server::start(msb, sandbox.name())?;
    let pairs = timing::alternate(
        runs,
        || (0..COMMANDS).try_for_each(|_| library.run()),
        || (0..COMMANDS).try_for_each(|_| server.run()),
    )?;
    server.end()?;
    let (library, tool) = (each(pairs.a), each(pairs.b));
    let median = |cell: &Cell| cell.spread().map(|spread| spread.median);
    let added_s = median(&tool).context("no rounds")? - median(&library).context("no rounds")?;
    let table = Table {
        title: "A command by the SDK and by a tool of msb mcp".to_owned(),
        conditions: conditions(format!(
            "{runs} runs of {COMMANDS} commands after one warm-up, in turn; both keep their sandbox and their process"
        )),
        unit: Unit::Seconds,
        columns: vec!["the SDK".to_owned(), "msb mcp".to_owned()],
        baseline: Some(0),
        rows: vec![Row::new(LINE, vec![Some(library), Some(tool)])],
        plot: Plot::Ratios,
    };
    let target = Target::new(
        added_s <= ADDED_MAX_S,
        format!(
            "a tool adds {} to a command (at most {})",
            Unit::Seconds.shown(added_s.max(0.0)),
            Unit::Seconds.shown(ADDED_MAX_S)
        ),
    );
    Ok((table, vec![target]))
}

fn each(cell: Cell) -> Cell {
    let rounds = cell.rounds.into_iter();
    Cell::from_rounds(
        rounds
            .map(|seconds| seconds / f64::from(COMMANDS))
            .collect(),
    )
}

/// The sandbox as a program of the SDK has it.
struct Library {
    runtime: Runtime,
    sandbox: Sandbox,
}

impl Library {
    fn connect(msb: &Msb, name: &str) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = msb_sdk::Msb::builder().home(msb.home()).build()?;
        let sandbox = runtime.block_on(async { client.sandboxes().get(name).await })?;
        Ok(Self { runtime, sandbox })
    }

    fn run(&mut self) -> Result<()> {
        let output = self
            .runtime
            .block_on(async { self.sandbox.shell(LINE).await })?;
        ensure!(
            output.exit_code == 0,
            "the command ended with {}",
            output.exit_code
        );
        Ok(())
    }
}

/// `msb mcp`, as a client starts it.
struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    call: Value,
}

impl Server {
    fn start(msb: &Msb, name: &str) -> Result<Self> {
        let mut process = msb
            .command()
            .args(["mcp", "--all"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().context("stdin is piped")?;
        let output = process.stdout.take().context("stdout is piped")?;
        let arguments = json!({"name": name, "command": LINE});
        let mut server = Self {
            process,
            input,
            output: BufReader::new(output),
            call: json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "sandbox_exec", "arguments": arguments},
            }),
        };
        let greeting = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "msb bench", "version": "1"},
            },
        });
        server.ask(&greeting)?;
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(server.input, "{begun}")?;
        Ok(server)
    }

    fn run(&mut self) -> Result<()> {
        let call = self.call.clone();
        let answer = self.ask(&call)?;
        let code = &answer["result"]["structuredContent"]["exit_code"];
        ensure!(*code == 0, "{answer}");
        Ok(())
    }

    /// Sends a request, and returns the answer.
    fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.input, "{request}")?;
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "msb mcp has ended");
            let message: Value = serde_json::from_str(&line)?;
            // Others are notifications.
            if message["id"] == request["id"] {
                return Ok(message);
            }
        }
    }

    /// Closes the server's input, which ends it.
    fn end(self) -> Result<()> {
        let Self {
            mut process, input, ..
        } = self;
        drop(input);
        ensure!(process.wait()?.success(), "msb mcp has failed");
        Ok(())
    }
}
