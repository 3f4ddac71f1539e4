//! Changes of staged directories, put into the directories of the host once their user agrees.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use msb_sdk::{
    AppliedChange, AppliedDirectory, ApplyChoice, ApplyOptions, ApplyPlan, ErrorKind, Text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diff::Listed;
use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::confirmation::{self, Consent};
use crate::failure::{Failure, Stop};
use crate::session::Session;

/// The most changes that a call lists.
const CHANGES_MAX: usize = 1000;
/// The most changes that a question to the user lists.
const ASKED_MAX: usize = 40;

/// Writes changes to the host.
pub(super) struct Apply;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Paths in the sandbox whose changes are applied; those of all staged directories if left out.
    #[serde(default)]
    paths: Vec<String>,
    /// True, the default, to list the changes and write nothing.
    #[serde(default = "yes")]
    dry_run: bool,
    /// The plan of an earlier call, whose changes are written as they were listed. It is kept for ten minutes.
    plan: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the changes are written to the host.
    applied: bool,
    /// The changes of each directory of the host, at most 1000 in all.
    directories: Vec<Directory>,
    /// Number of all changes.
    total: u64,
    /// Changes that are left to the user, with the reason.
    left_out: Vec<LeftOut>,
    /// The plan, for a call that writes these changes: give it as plan, with dry_run false.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Directory {
    /// The directory of the host.
    directory: String,
    /// Its changes, with paths in it.
    changes: Vec<Listed>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct LeftOut {
    /// Path, quoted as git does if it has unusual characters.
    path: String,
    /// The reason.
    reason: String,
}

impl SandboxTool for Apply {
    const NAME: &'static str = "sandbox_apply";
    const TITLE: &'static str = "Write changes to the host";
    const DESCRIPTION: &'static str = "Writes the changes of staged directories to the directories of the user that \
        they are copies of. The user is asked first if the client can ask. Otherwise the changes are listed by a call \
        with dry_run, and written by a second one with its plan.";
    const EFFECT: Effect = Effect::DESTROYS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        // The state is that of a call that had to be asked about.
        if let Some(state) = call.state() {
            return settle(session, call, taken(session, state)?).await;
        }
        if let Some(token) = &arguments.plan
            && !arguments.dry_run
        {
            let plan = taken(session, token)?;
            if call.offers_questions() {
                return settle(session, call, plan).await;
            }
            return write(call, plan).await;
        }
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let mut options = ApplyOptions::default();
        for path in &arguments.paths {
            options = options.path(path.as_str());
        }
        // An earlier plan of the same directories would keep this one from being made.
        session.plan.clear();
        let plan = call.awaited(sandbox.plan_apply(None, options)).await?;
        leave_marked_out(&plan);
        if arguments.dry_run || !call.offers_questions() {
            let mut output = Output::of(&plan, false);
            output.plan = Some(session.plan.hold(plan));
            return Ok(output);
        }
        settle(session, call, plan).await
    }
}

/// Has the client's user asked about a plan, and writes its changes with a yes.
async fn settle(session: &Session, call: &Call, plan: ApplyPlan) -> Result<Output, Stop> {
    let question = question(&planned(&plan));
    // A client that asks between two calls gets the plan's token, and comes back with it.
    let state = session.plan.hold(plan);
    let asked = confirmation::ask(call, question, &state).await;
    if matches!(asked, Err(Stop::Cancelled | Stop::Failed(_))) {
        session.plan.clear();
    }
    let consent = asked?;
    let plan = taken(session, &state)?;
    match consent {
        Consent::Given => write(call, plan).await,
        Consent::Refused => {
            let message = "the user does not agree to the changes, so nothing is written";
            Err(Failure::new(ErrorKind::PermissionDenied, message).into())
        }
        Consent::NotOffered => {
            let mut output = Output::of(&plan, false);
            output.plan = Some(session.plan.hold(plan));
            Ok(output)
        }
    }
}

async fn write(call: &Call, plan: ApplyPlan) -> Result<Output, Stop> {
    let mut output = Output::of(&plan, true);
    let written = call.awaited(plan.run()).await?;
    output.directories = directories(&written);
    Ok(output)
}

fn taken(session: &Session, token: &str) -> Result<ApplyPlan, Failure> {
    session.plan.take(token).ok_or_else(|| {
        Failure::new(ErrorKind::NotFound, "the plan is no longer kept")
            .with_hint("list the changes again with dry_run, and give the new plan")
    })
}

/// Leaves out the changes that make programs of the host run commands. A user applies them with `msb apply`.
fn leave_marked_out(plan: &ApplyPlan) {
    for change in plan
        .changes()
        .iter()
        .filter(|change| change.needs_acceptance)
    {
        plan.choose(change.index, ApplyChoice::No);
    }
}

impl Output {
    fn of(plan: &ApplyPlan, applied: bool) -> Self {
        let planned = planned(plan);
        let total = planned.iter().map(|one| one.applied.changes.len() as u64);
        Self {
            applied,
            total: total.sum(),
            left_out: left_out(&planned, plan),
            directories: directories(&planned),
            plan: None,
        }
    }
}

/// Returns the changes of a plan, without those that are left out.
fn planned(plan: &ApplyPlan) -> Vec<AppliedDirectory> {
    let marked = plan.changes().into_iter();
    let marked = marked.filter(|change| change.needs_acceptance);
    let marked: BTreeSet<(PathBuf, Text)> = marked
        .map(|change| (change.directory, change.path))
        .collect();
    let mut planned = plan.directories();
    for one in &mut planned {
        let directory = one.directory.clone();
        let is_made =
            |change: &AppliedChange| !marked.contains(&(directory.clone(), change.path.clone()));
        one.applied.changes.retain(is_made);
    }
    planned
}

fn directories(planned: &[AppliedDirectory]) -> Vec<Directory> {
    let mut left = CHANGES_MAX;
    let mut directories = Vec::new();
    for one in planned {
        let changes = one.applied.changes.iter().take(left);
        let changes: Vec<Listed> = changes
            .map(|change| Listed {
                path: change.quoted_path(),
                kind: change.kind.into(),
            })
            .collect();
        left = left.saturating_sub(changes.len());
        directories.push(Directory {
            directory: one.directory.to_string_lossy().into_owned(),
            changes,
        });
    }
    directories
}

fn left_out(planned: &[AppliedDirectory], plan: &ApplyPlan) -> Vec<LeftOut> {
    let marked = plan.changes().into_iter();
    let marked = marked.filter(|change| change.needs_acceptance);
    let marked = marked.map(|change| LeftOut {
        path: change.path.quoted(),
        reason: format!(
            "{}; the user applies it with msb apply",
            change.effect.unwrap_or_default()
        ),
    });
    let refused = planned.iter().flat_map(|one| &one.applied.refused);
    let refused = refused.map(|change| LeftOut {
        path: change.path.quoted(),
        reason: format!("kept back by the rule {}", change.rule),
    });
    marked.chain(refused).take(CHANGES_MAX).collect()
}

/// Returns the text with which the user is asked.
fn question(planned: &[AppliedDirectory]) -> String {
    let mut text = String::from("Write the changes of the sandbox to this computer?");
    let mut left = ASKED_MAX;
    for one in planned {
        let directory = terminal_text::escaped(&one.directory.to_string_lossy()).into_owned();
        let count = one.applied.changes.len();
        let _ = write!(text, "\n{directory} ({count} changes):");
        for change in one.applied.changes.iter().take(left) {
            let _ = write!(text, "\n{} {}", change.kind.letter(), change.quoted_path());
        }
        if count > left {
            let _ = write!(text, "\n... and {} more", count.saturating_sub(left));
        }
        left = left.saturating_sub(count);
    }
    text
}

const fn yes() -> bool {
    true
}
