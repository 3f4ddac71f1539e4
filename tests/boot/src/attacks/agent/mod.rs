//! Attacks of a hostile guest agent on the supervisor of its machine.
//!
//! The supervisor is a real one, in a process with its jail; its port to the guest is a socket that
//! the attack holds. Clients call the agent meanwhile, and one calls the supervisor alone, which has
//! to be served whatever the agent does.

mod callers;
mod floods;
mod frames;
mod hostile;
mod victim;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use msb_agent_protocol::ClientError;
use test_fixtures::paths;

use super::Setting;
use super::tally::Tally;
use callers::Callers;
use floods::{ANSWER_FLOODS, Answer, Bytes, FRAME_FLOODS, NO_HTTP2, QUESTION_FLOODS};
use hostile::{HostileAgent, Taken};
use victim::Victim;
pub(crate) use victim::supervise;

/// The most memory that the supervisor may have under any attack, in KiB.
const MEMORY_MAX_KIB: u64 = 64 << 10;
/// Most lines of the journal of questions after an attack: those of two minutes.
const RECORDS_MAX: usize = 240;
/// Number of calls of other clients during a flood of answers.
const CALLS: usize = 16;
/// Time of a flood if it has no other end, and of one in the long form.
const FLOOD_TIME: Duration = Duration::from_millis(150);
const LONG_FLOOD_TIME: Duration = Duration::from_secs(3);
/// The longest time that a call on a silent agent may take.
const CALL_MAX: Duration = Duration::from_secs(75);
/// The longest time that the end of a machine with a silent agent may take.
const END_MAX: Duration = Duration::from_secs(75);
/// The grace that a stop gives; it is longer than a silent agent may keep its machine.
const GRACE: Duration = Duration::from_secs(600);

/// Attacks the supervisor in each way, repeatedly until the time is over.
pub(super) fn attack(setting: &Setting<'_>, tally: &mut Tally) -> Result<()> {
    let silences = SILENCES.map(|(name, attack)| (name, std::thread::spawn(attack)));
    let is_long = Instant::now() < setting.until;
    let time = if is_long { LONG_FLOOD_TIME } else { FLOOD_TIME };
    let mut rounds = 0;
    loop {
        for &(name, bytes) in NO_HTTP2 {
            tally.note(&format!("agent: {name}"), before_http2(bytes, time));
        }
        for &(name, bytes) in FRAME_FLOODS {
            tally.note(&format!("agent: {name}"), of_frames(bytes, time));
        }
        for &(name, answer) in ANSWER_FLOODS {
            for (how, reads) in [("read", true), ("unread", false)] {
                let outcome = of_answers(answer, reads, time);
                tally.note(&format!("agent: {name}, {how}"), outcome);
            }
        }
        for &(name, question) in QUESTION_FLOODS {
            for (how, reads) in [("read", true), ("unread", false)] {
                let outcome = of_questions(question, reads, time);
                tally.note(&format!("agent: {name}, {how}"), outcome);
            }
        }
        rounds += 1;
        if Instant::now() >= setting.until {
            break;
        }
    }
    for (name, silence) in silences {
        let outcome = silence
            .join()
            .unwrap_or_else(|_| Err(anyhow!("it panicked")));
        tally.note(&format!("agent: {name}"), outcome);
    }
    tally.note("agent: rounds", Ok(rounds.to_string()));
    Ok(())
}

fn directory(name: &str) -> Result<PathBuf> {
    paths::scratch(&format!("attacks-agent-{name}"))
}

/// An attack with its name.
type Named = (&'static str, fn() -> Result<String>);

/// Attacks of an agent that says nothing after the beginning of HTTP/2.
const SILENCES: [Named; 2] = [
    ("silence while a client calls", silent_call),
    ("silence while the machine is to end", silent_end),
];

fn silent_call() -> Result<String> {
    let (victim, _agent) = silent_victim("call")?;
    let (error, took) = callers::hello(&victim.socket())?;
    ensure!(
        matches!(error, ClientError::Silent { .. }) && took < CALL_MAX,
        "a call ended after {took:?}: {error}"
    );
    Ok(format!("the call ended after {:.1} s", took.as_secs_f32()))
}

fn silent_end() -> Result<String> {
    let (mut victim, _agent) = silent_victim("end")?;
    let began = Instant::now();
    let error = callers::shut_down(&victim.socket(), GRACE)?;
    victim.ended(END_MAX)?;
    let took = began.elapsed();
    ensure!(
        matches!(error, ClientError::Silent { .. }) && took < END_MAX,
        "the machine ended after {took:?}: {error}"
    );
    Ok(format!("it ended after {:.1} s", took.as_secs_f32()))
}

fn silent_victim(name: &str) -> Result<(Victim, HostileAgent)> {
    let (victim, mut agent) = Victim::start(&directory(name)?)?;
    agent.greet()?;
    agent.open()?;
    Ok((victim, agent))
}

/// Floods the supervisor in place of HTTP/2.
fn before_http2(bytes: Bytes, time: Duration) -> Result<String> {
    flood(0, true, |agent| {
        agent.greet()?;
        agent.flood(Instant::now() + time, bytes)
    })
}

/// Floods the supervisor with frames that belong to no call.
fn of_frames(bytes: Bytes, time: Duration) -> Result<String> {
    flood(1, true, |agent| {
        agent.greet()?;
        agent.open()?;
        agent.flood(Instant::now() + time, bytes)
    })
}

/// Floods the supervisor and its clients with answers.
fn of_answers(answer: Answer, reads: bool, time: Duration) -> Result<String> {
    flood(CALLS, reads, |agent| with_answers(agent, answer, time))
}

/// Floods the supervisor and a client that listens with questions.
fn of_questions(question: Answer, reads: bool, time: Duration) -> Result<String> {
    let attack = |agent: &mut HostileAgent| with_answers(agent, question, time);
    let (figures, records) = flood_and_count(CALLS, reads, attack)?;
    ensure!(records > 0, "no question came to the supervisor");
    Ok(format!("{figures}, {records} records"))
}

fn with_answers(agent: &mut HostileAgent, answer: Answer, time: Duration) -> Result<Taken> {
    agent.greet()?;
    agent.open()?;
    // The supervisor itself, whose calls come first, watches the disks, takes questions and sets the clock.
    let streams = agent.answer(CALLS + 1)?;
    agent.flood(Instant::now() + time, |number| {
        answer(number / streams.len(), streams[number % streams.len()])
    })
}

/// Makes an attack on a supervisor with clients, and judges what is left of it.
fn flood(
    calls: usize,
    reads: bool,
    attack: impl FnOnce(&mut HostileAgent) -> Result<Taken>,
) -> Result<String> {
    flood_and_count(calls, reads, attack).map(|(figures, _)| figures)
}

/// Makes an attack as [`flood`] does, and also returns the number of records in the journal of questions.
fn flood_and_count(
    calls: usize,
    reads: bool,
    attack: impl FnOnce(&mut HostileAgent) -> Result<Taken>,
) -> Result<(String, usize)> {
    let (mut victim, mut agent) = Victim::start(&directory("flood")?)?;
    let callers = Callers::start(victim.socket(), calls, reads);
    let taken = attack(&mut agent);
    let peak_kib = victim.peak_kib();
    // Other clients are served until the end of the flood.
    let slowest = callers.end()?;
    let taken = taken?;
    let peak_kib = peak_kib?.max(victim.peak_kib()?);
    ensure!(peak_kib < MEMORY_MAX_KIB, "it has {peak_kib} KiB");
    let records = victim.recorded_questions()?;
    ensure!(records <= RECORDS_MAX, "it recorded {records} lines");
    drop(agent);
    callers::shut_down(&victim.socket(), GRACE)?;
    victim.ended(END_MAX)?;
    let figures = format!(
        "{} KiB taken{}, at most {:.1} MiB of memory, others served within {} ms",
        taken.bytes >> 10,
        if taken.is_closed { ", then closed" } else { "" },
        peak_kib as f64 / 1024.0,
        slowest.as_millis()
    );
    Ok((figures, records))
}
