//! Commands that the host asks for.

mod accounts;
mod container;
mod control_group;
mod elf;
mod environment;
mod failure;
mod init;
mod leader;
mod limits;
mod misfit;
mod namespaces;
mod output;
mod own_program;
mod process;
mod program;
mod running;
mod signals;
mod streams;

use std::io;
use std::os::fd::OwnedFd;

use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::v1::exec_input::Input;
use msb_agent_protocol::v1::exit_status::Status as HowEnded;
use msb_agent_protocol::v1::{
    Exec, ExecEvent, ExecInput, ExitStatus, Failure, Namespaces, Started,
};
use msb_agent_protocol::{Status, Streaming};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::wrappers::ReceiverStream;

use crate::reaper::Reaper;
use crate::{shutdown, unmount};
pub(crate) use accounts::{own_home, owner};
pub(crate) use container::{ContainerProcess, Pipes};
pub(crate) use control_group::{next_number, remove_empty as remove_empty_groups};
pub(crate) use environment::{get as variable, parse as parse_environment};
use failure::{guest_failure, paused, refused_action};
use namespaces::Isolation;
pub(crate) use namespaces::{NamespacesOf, among_commands, note_end, own_number, shared_pids};
pub(crate) use process::Process;
use process::{NotStarted, Prepared};
pub(crate) use program::{Program, find as find_program};
pub(crate) use running::Running;
use signals::Group;
pub(crate) use signals::send as send_signal;
pub(crate) use streams::Terminal;
use streams::{END_OF_TRANSMISSION, Ends, Stdin, Streams};

/// The events of a command, for the host.
pub(crate) type Events = ReceiverStream<Result<ExecEvent, Status>>;
/// The number of output chunks that wait for the host; beyond them the command waits.
const PENDING_CHUNKS: usize = 4;

/// Runs a command. The command is killed if the host stops listening to its events.
pub(crate) async fn run(
    request: Exec,
    inputs: Streaming<ExecInput>,
    reaper: &Reaper,
    running: &Running,
) -> Events {
    let (sender, events) = mpsc::channel(PENDING_CHUNKS);
    match start(request, reaper, running).await {
        Ok(process) => {
            // Nothing is awaited between the start and this call.
            let ended = reaper.wait_for(process.pid);
            tokio::spawn(attend(
                process,
                inputs,
                Host(sender),
                ended,
                running.clone(),
            ));
        }
        Err(why) => {
            let failure = explain(why).await;
            // The channel is empty, so there is room.
            let _ = sender.try_send(Ok(event(Event::Failed(failure))));
        }
    }
    ReceiverStream::new(events)
}

/// Starts a process of a container. Nothing is awaited after its start.
pub(crate) fn start_in_container(
    process: ContainerProcess,
    running: &Running,
) -> Result<Process, Failure> {
    start_prepared(container::prepare(process), running).map_err(|why| match why {
        NotStarted::Failed(failure) => failure,
        NotStarted::Refused { error, .. } => refused_action("start the agent's program", &error),
    })
}

/// Takes a terminal that a process of a container has opened, as all of its streams. Returns another handle of it.
pub(crate) fn take_terminal(
    process: &mut Process,
    master: OwnedFd,
) -> io::Result<Option<Terminal>> {
    let Ends {
        stdin,
        terminal,
        outputs,
    } = Streams::of_terminal(master)?.watch()?;
    process.stdin = stdin;
    process.terminal = terminal;
    process.outputs = outputs;
    process
        .terminal
        .as_ref()
        .map(Terminal::try_clone)
        .transpose()
}

/// Carries the streams of a process of a container. The process is killed if the host stops listening to its events.
pub(crate) fn carry(
    process: Process,
    inputs: Streaming<ExecInput>,
    ended: oneshot::Receiver<ExitStatus>,
    running: &Running,
) -> Events {
    let (sender, events) = mpsc::channel(PENDING_CHUNKS);
    tokio::spawn(attend(
        process,
        inputs,
        Host(sender),
        ended,
        running.clone(),
    ));
    ReceiverStream::new(events)
}

/// Returns the events of a process of a container that could not be started.
pub(crate) fn not_started(failure: Failure) -> Events {
    let (sender, events) = mpsc::channel(1);
    // The channel is empty, so there is room.
    let _ = sender.try_send(Ok(event(Event::Failed(failure))));
    ReceiverStream::new(events)
}

/// Starts a command in the namespaces that it is for. Nothing is awaited after its start.
async fn start(request: Exec, reaper: &Reaper, running: &Running) -> Result<Process, NotStarted> {
    let is_joining = request.namespaces() == Namespaces::Joined;
    if is_joining && init::holds() && namespaces::process_1().is_none() {
        let holder = prepare(init::holder(), Isolation::new(Namespaces::New)).await;
        // Another command may have started one meanwhile.
        if namespaces::process_1().is_none() {
            let holder = start_prepared(holder, running)?;
            let ended = reaper.wait_for(holder.pid);
            tokio::spawn(end_with_holder(ended, running.clone()));
        }
    }
    let isolation = Isolation::new(request.namespaces());
    start_prepared(prepare(request, isolation).await, running)
}

/// Ends the machine with the holder, which nothing but reboot(2) and the kernel ends while the sandbox runs: all
/// processes in its namespaces have been killed with it.
async fn end_with_holder(ended: oneshot::Receiver<ExitStatus>, running: Running) {
    if ended.await.is_ok() && !running.is_closed() {
        running.close();
        running.all_left().await;
        // A thread that failed has said so; the machine ends all the same.
        let _ = unmount::beside_pings(unmount::unmount_for_good).await;
        shutdown::power_off();
    }
}

/// Starts a prepared command, unless commands are refused by now.
fn start_prepared(
    prepared: Result<Prepared, Failure>,
    running: &Running,
) -> Result<Process, NotStarted> {
    if let Some(reason) = running.refusal() {
        return Err(NotStarted::Failed(guest_failure(reason)));
    }
    if running.is_paused() {
        // The agent would wait for a child that is frozen before it has become the program.
        return Err(NotStarted::Failed(paused()));
    }
    process::start(prepared.map_err(NotStarted::Failed)?)
}

/// Prepares a command on a thread that may block on the guest's files.
async fn prepare(request: Exec, isolation: Isolation) -> Result<Prepared, Failure> {
    let prepared = tokio::task::spawn_blocking(move || {
        among_commands(|| process::prepare(&request, isolation))
            .unwrap_or_else(|error| Err(refused_action("prepare the command", &error)))
    });
    let prepared = prepared.await;
    prepared.unwrap_or_else(|_| Err(guest_failure("the agent failed")))
}

/// Finds the reason why a command was not started, on a thread that may block too.
async fn explain(why: NotStarted) -> Failure {
    match why {
        NotStarted::Failed(failure) => failure,
        NotStarted::Refused { program, error } => {
            let explained = tokio::task::spawn_blocking(move || {
                among_commands(|| program.explain(&error))
                    .unwrap_or_else(|_| guest_failure("the agent failed"))
            });
            let explained = explained.await;
            explained.unwrap_or_else(|_| guest_failure("the agent failed"))
        }
    }
}

/// The host's end of a command's events.
#[derive(Clone)]
struct Host(mpsc::Sender<Result<ExecEvent, Status>>);

/// The host no longer listens to the events.
struct Disconnected;

impl Host {
    async fn send_event(&self, what: Event) -> Result<(), Disconnected> {
        self.0.send(Ok(event(what))).await.map_err(|_| Disconnected)
    }
}

fn event(event: Event) -> ExecEvent {
    ExecEvent { event: Some(event) }
}

/// Connects a command to its host until the command has ended or the host has disconnected.
async fn attend(
    process: Process,
    inputs: Streaming<ExecInput>,
    host: Host,
    ended: oneshot::Receiver<ExitStatus>,
    running: Running,
) {
    let group = Group::new(process.pid, process.control_group);
    let exec_id = running.enter(group.clone(), process.terminal);
    let (chunks, pending) = mpsc::channel(PENDING_CHUNKS);
    let has_ended = watch::Sender::new(false);
    for output in process.outputs {
        tokio::spawn(output::read(output, chunks.clone(), has_ended.subscribe()));
    }
    drop(chunks);
    let taking = tokio::spawn(write_stdin(process.stdin, inputs));
    let started = Event::Started(Started {
        exec_id,
        pid: process.own_number,
    });
    let told = tokio::select! {
        told = send_events(started, &host, pending, ended, &has_ended) => told,
        () = host.0.closed() => Err(Disconnected),
    };
    taking.abort();
    running.leave(exec_id);
    // Processes that a command leaves behind at its own end live on.
    if told.is_err() && !*has_ended.borrow() {
        group.kill();
    }
}

/// Sends the command's output until it has ended and the output is complete, then its exit status.
async fn send_events(
    started: Event,
    host: &Host,
    mut pending: mpsc::Receiver<Event>,
    mut ended: oneshot::Receiver<ExitStatus>,
    has_ended: &watch::Sender<bool>,
) -> Result<(), Disconnected> {
    host.send_event(started).await?;
    let mut open = true;
    let status = loop {
        tokio::select! {
            chunk = pending.recv(), if open => match chunk {
                Some(chunk) => host.send_event(chunk).await?,
                None => open = false,
            },
            status = &mut ended => break status,
        }
    };
    has_ended.send_replace(true);
    while let Some(chunk) = pending.recv().await {
        host.send_event(chunk).await?;
    }
    // The reaper delivers every status before it ends, so a lost one means that PID 1 ends.
    let killed = ExitStatus {
        status: Some(HowEnded::Signal(9)),
        ..ExitStatus::default()
    };
    host.send_event(Event::Exited(status.unwrap_or(killed)))
        .await
}

/// Passes the host's input on until the host has sent all of it or the command reads no more.
async fn write_stdin(stdin: Option<Stdin>, mut inputs: Streaming<ExecInput>) {
    let Some(Stdin {
        mut stream,
        is_terminal,
    }) = stdin
    else {
        return;
    };
    while let Ok(Some(input)) = inputs.message().await {
        match input.input {
            Some(Input::Stdin(bytes)) if bytes.is_empty() => break,
            Some(Input::Stdin(bytes)) if stream.write_all(&bytes).await.is_err() => return,
            _ => {}
        }
    }
    if is_terminal {
        // A terminal has no end to close; a user ends the input with this character.
        let _ = stream.write_all(&[END_OF_TRANSMISSION]).await;
    }
}
