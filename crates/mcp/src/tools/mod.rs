//! The tools, one file for each: its arguments, its result, and its work.

mod apply;
mod create;
mod diff;
mod edit_file;
mod exec;
mod fork;
mod list;
mod list_files;
mod logs;
mod read_file;
mod remove;
mod rollback;
mod snapshot;
mod undo;
mod write_file;

use std::pin::Pin;
use std::sync::Arc;

use msb_sdk::ErrorKind;
use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use logs::text as log_text;

use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::schema::plain;
use crate::session::Session;

/// A tool of a client.
trait SandboxTool: 'static {
    /// The name, which clients show and models call.
    const NAME: &'static str;
    /// The name for people.
    const TITLE: &'static str;
    /// The text that a model reads.
    const DESCRIPTION: &'static str;
    /// The changes that a call can make.
    const EFFECT: Effect;
    /// The arguments of a call. Their comments are the descriptions that a model reads.
    type Arguments: DeserializeOwned + JsonSchema + Send + 'static;
    /// The result of a call.
    type Output: Serialize + JsonSchema + Send + 'static;

    /// Does the work of a call.
    fn run(
        session: &Session,
        call: &Call,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Output, Stop>> + Send;
}

/// The changes that a call can make, as clients tell their users.
#[derive(Debug, Clone, Copy)]
struct Effect {
    /// Nothing is changed.
    reads_only: bool,
    /// Something may be lost.
    destroys: bool,
    /// A second call with the same arguments changes nothing more.
    is_idempotent: bool,
    /// The call reaches beyond this host.
    reaches_out: bool,
}

impl Effect {
    /// A call that changes nothing.
    const READS: Self = Self {
        reads_only: true,
        destroys: false,
        is_idempotent: true,
        reaches_out: false,
    };
    /// A call that adds something, and loses nothing.
    const ADDS: Self = Self {
        reads_only: false,
        destroys: false,
        is_idempotent: false,
        reaches_out: false,
    };
    /// A call that may lose something.
    const DESTROYS: Self = Self {
        reads_only: false,
        destroys: true,
        is_idempotent: false,
        reaches_out: false,
    };

    const fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    const fn reaching_out(mut self) -> Self {
        self.reaches_out = true;
        self
    }

    fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(self.reads_only)
            .destructive(self.destroys)
            .idempotent(self.is_idempotent)
            .open_world(self.reaches_out)
    }
}

/// The work of a call.
type Running<'a> = Pin<Box<dyn Future<Output = Result<CallToolResult, Stop>> + Send + 'a>>;

/// A tool in the table.
struct Entry {
    name: &'static str,
    describe: fn() -> Tool,
    run: for<'a> fn(&'a Session, &'a Call, JsonObject) -> Running<'a>,
}

/// The tools, in the order in which they are listed.
static TOOLS: [Entry; 15] = [
    entry::<create::Create>(),
    entry::<exec::Exec>(),
    entry::<read_file::ReadFile>(),
    entry::<write_file::WriteFile>(),
    entry::<edit_file::EditFile>(),
    entry::<list_files::ListFiles>(),
    entry::<diff::Diff>(),
    entry::<apply::Apply>(),
    entry::<snapshot::Snapshot>(),
    entry::<rollback::Rollback>(),
    entry::<undo::Undo>(),
    entry::<fork::Fork>(),
    entry::<logs::Logs>(),
    entry::<list::List>(),
    entry::<remove::Remove>(),
];

const fn entry<T: SandboxTool>() -> Entry {
    Entry {
        name: T::NAME,
        describe: describe::<T>,
        run: run::<T>,
    }
}

/// Returns the tools that a session offers.
pub(crate) fn all(session: &Session) -> Vec<Tool> {
    let offered = TOOLS.iter().filter(|entry| is_offered(session, entry));
    offered.map(|entry| (entry.describe)()).collect()
}

/// Calls the tool with this name. Returns `None` if the session offers none.
pub(crate) fn call<'a>(
    session: &'a Session,
    call: &'a Call,
    name: &str,
    arguments: JsonObject,
) -> Option<Running<'a>> {
    let mut offered = TOOLS.iter().filter(|entry| is_offered(session, entry));
    let entry = offered.find(|entry| entry.name == name)?;
    Some((entry.run)(session, call, arguments))
}

fn is_offered(session: &Session, entry: &Entry) -> bool {
    session.settings.applies || entry.name != apply::Apply::NAME
}

fn describe<T: SandboxTool>() -> Tool {
    // A schema of arguments is one of an object: a test describes each tool.
    let input = schema_for_input::<T::Arguments>().unwrap_or_default();
    let output = schema_for_output::<T::Output>();
    Tool::new(T::NAME, T::DESCRIPTION, Arc::new(plain(&input)))
        .with_title(T::TITLE)
        .with_raw_output_schema(Arc::new(plain(&output)))
        .with_annotations(T::EFFECT.annotations(T::TITLE))
}

fn run<'a, T: SandboxTool>(
    session: &'a Session,
    call: &'a Call,
    arguments: JsonObject,
) -> Running<'a> {
    Box::pin(async move {
        let arguments = serde_json::from_value(Value::Object(arguments));
        let arguments: T::Arguments = arguments.map_err(|error| {
            let error = terminal_text::escaped(&error.to_string()).into_owned();
            Failure::invalid(format!("cannot use the arguments of {}: {error}", T::NAME))
        })?;
        let output = T::run(session, call, arguments).await?;
        let output = serde_json::to_value(output).map_err(|error| {
            let message = format!("cannot write the result: {error}");
            Failure::new(ErrorKind::InternalError, message)
        })?;
        Ok(CallToolResult::structured(output))
    })
}

/// The remedy of a snapshot that does not exist.
const SNAPSHOT_HINT: &str =
    "give a name that sandbox_snapshot, sandbox_exec or sandbox_rollback returned";

/// Returns a number of a call, or the default without one.
fn number(name: &str, wanted: Option<u64>, default: u64, most: u64) -> Result<u64, Failure> {
    match wanted {
        None => Ok(default),
        Some(wanted) if (1..=most).contains(&wanted) => Ok(wanted),
        Some(wanted) => Err(Failure::invalid(format!(
            "{name}: {wanted} is not a number from 1 to {most}"
        ))),
    }
}

#[cfg(test)]
mod tests;
