//! The questions of a share process, which the supervisor passes on to the user, and the rules that change meanwhile.

use std::collections::HashSet;
use std::io::{self, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use msb_share::{Access, Answers, Asker, PathAccess};
use path_rules::Rule;
use questions::{Kind, SUBJECT_MAX_BYTES};

use crate::share_messages::{FromShare, ToShare, encode, read};
use crate::shared_rules::SharedRules;

/// The messages that wait for the supervisor. A question for which there is no room is denied.
const PENDING: usize = 256;
/// The time in which the supervisor takes a message. It does little else.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The refusals that are told within [`REFUSALS_INTERVAL`], each once: a guest may try as often as it likes.
const REFUSALS_MAX: usize = 60;
const REFUSALS_INTERVAL: Duration = Duration::from_secs(60);

/// A shared directory that has rules.
#[derive(Debug, Clone)]
pub(crate) struct RuledDirectory {
    /// The path in the sandbox that it is mounted at.
    pub(crate) target: String,
    pub(crate) rules: SharedRules,
}

/// The directories of a share, by the numbers of its entries; `None` for an entry without rules.
type Directories = Arc<[Option<RuledDirectory>]>;

/// The user of a share, whom the supervisor asks.
pub(crate) struct User {
    directories: Directories,
    messages: SyncSender<FromShare>,
    refusals: Mutex<Refusals>,
}

/// The way to the supervisor.
pub(crate) struct Link {
    directories: Directories,
    messages: SyncSender<FromShare>,
    sent: Receiver<FromShare>,
}

/// The refusals that were told lately.
struct Refusals {
    since: Instant,
    told: HashSet<PathAccess>,
}

/// Returns the user of a share with these directories, and the way on which the questions go.
pub(crate) fn user(directories: Vec<Option<RuledDirectory>>) -> (User, Link) {
    let directories: Directories = directories.into();
    let (messages, sent) = sync_channel(PENDING);
    let user = User {
        directories: Arc::clone(&directories),
        messages: messages.clone(),
        refusals: Mutex::new(Refusals {
            since: Instant::now(),
            told: HashSet::new(),
        }),
    };
    let link = Link {
        directories,
        messages,
        sent,
    };
    (user, link)
}

impl User {
    fn directory(&self, access: &PathAccess) -> Option<&RuledDirectory> {
        self.directories.get(access.entry)?.as_ref()
    }

    fn send(&self, message: FromShare) -> bool {
        self.messages.try_send(message).is_ok()
    }
}

impl Asker for User {
    fn ask(&self, token: u64, question: &PathAccess) -> bool {
        let path = self
            .directory(question)
            .and_then(|directory| directory.in_sandbox(&question.path));
        path.is_some_and(|path| {
            let kind = kind(question.access);
            self.send(FromShare::Asked { token, kind, path })
        })
    }

    fn withdraw(&self, token: u64) {
        // Without room, the supervisor denies the question when its time is over.
        self.send(FromShare::Withdrawn { token });
    }

    fn refused(&self, refused: &PathAccess) {
        let Some(directory) = self.directory(refused) else {
            return;
        };
        let told = directory
            .in_sandbox(&refused.path)
            .zip(directory.rules.deciding(&refused.path));
        let Some((path, rule)) = told else { return };
        let refusals = self.refusals.lock();
        let mut refusals = refusals.unwrap_or_else(PoisonError::into_inner);
        if refusals.add(refused, Instant::now()) {
            let kind = kind(refused.access);
            self.send(FromShare::Refused { kind, path, rule });
        }
    }
}

impl Link {
    /// Connects the questions with the supervisor at the other end of a stream, on threads of their own.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn start(self, stream: UnixStream, answers: &Answers) -> io::Result<()> {
        let Self {
            directories,
            messages,
            sent,
        } = self;
        let incoming = BufReader::new(stream.try_clone()?);
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let answered = answers.clone();
        let take = move || {
            take_messages(incoming, &answered, &directories, &messages);
            answered.deny_all();
        };
        thread::Builder::new()
            .name("answers".to_owned())
            .spawn(take)?;
        let asked = answers.clone();
        let send = move || {
            send_messages(stream, &sent, &asked);
            // First, so that no question is asked after the others are denied.
            drop(sent);
            asked.deny_all();
        };
        thread::Builder::new()
            .name("questions".to_owned())
            .spawn(send)?;
        Ok(())
    }
}

impl RuledDirectory {
    /// Returns the path in the sandbox of a file of the directory; `None` if a question cannot have it.
    fn in_sandbox(&self, path: &[u8]) -> Option<String> {
        let path = std::str::from_utf8(path).ok()?;
        let path = match path {
            "" => self.target.clone(),
            path => format!("{}/{path}", self.target),
        };
        (path.len() <= SUBJECT_MAX_BYTES).then_some(path)
    }
}

impl Refusals {
    /// Returns true if a refusal is to be told.
    fn add(&mut self, refused: &PathAccess, now: Instant) -> bool {
        if now.duration_since(self.since) >= REFUSALS_INTERVAL {
            self.since = now;
            self.told.clear();
        }
        self.told.len() < REFUSALS_MAX && self.told.insert(refused.clone())
    }
}

/// Takes the supervisor's messages until it is gone.
fn take_messages(
    mut incoming: BufReader<UnixStream>,
    answers: &Answers,
    directories: &[Option<RuledDirectory>],
    messages: &SyncSender<FromShare>,
) {
    while let Some(message) = read(&mut incoming) {
        match message {
            ToShare::Told { token, is_allowed } => answers.answer(token, is_allowed),
            ToShare::Rule {
                number,
                target,
                rule,
            } => {
                let error = answers
                    .change(|| set_rule(directories, &target, &rule))
                    .err();
                if messages.send(FromShare::Changed { number, error }).is_err() {
                    return;
                }
            }
        }
    }
}

/// Changes a rule of the directory at `target`.
fn set_rule(
    directories: &[Option<RuledDirectory>],
    target: &str,
    rule: &Rule,
) -> Result<(), String> {
    let mut ruled = directories.iter().flatten();
    let directory = ruled.find(|directory| directory.target == target);
    let directory = directory.ok_or_else(|| format!("no rules are followed at {target}"))?;
    directory.rules.set(rule).map_err(|error| error.to_string())
}

/// Sends messages, and denies the requests whose time is over, until the supervisor is gone.
fn send_messages(mut stream: UnixStream, sent: &Receiver<FromShare>, answers: &Answers) {
    loop {
        // A request that waits was asked about, which ends the wait below: no deadline is missed.
        let message = match answers.expire(Instant::now()) {
            None => sent.recv().map_err(RecvTimeoutError::from),
            Some(deadline) => sent.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        };
        let message = match message {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let line = encode(&message).map_err(io::Error::from);
        if line.and_then(|line| stream.write_all(&line)).is_err() {
            return;
        }
    }
}

const fn kind(access: Access) -> Kind {
    match access {
        Access::Read => Kind::Read,
        Access::Change => Kind::Change,
    }
}

#[cfg(test)]
mod tests;
