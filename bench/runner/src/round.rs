use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::cache::Caller;
use crate::fixture::Fixture;
use crate::message::{CacheState, Line, Part, Record, Request, Suite};
use crate::samples::Samples;
use crate::workloads::{self, Job, Workload};

/// Measures the request and prints a line of JSON for each run of a workload.
///
/// # Errors
/// If a place cannot be prepared, the caches cannot be dropped, or the output is closed. A workload
/// that fails is reported in a line, and the others continue.
pub fn run(request: &Request, output: &mut dyn Write, input: &mut dyn BufRead) -> Result<()> {
    let mut caller = Caller { output, input };
    let fixtures = fixtures(request)?;
    for part in &request.parts {
        run_part(request, part, &fixtures, &mut caller)?;
    }
    Ok(())
}

fn fixtures(request: &Request) -> Result<Vec<Fixture>> {
    let places = request.places.iter();
    places
        .map(|place| {
            let changes =
                |part: &Part| part.suite == Suite::CopyUp && part.places.contains(&place.name);
            let with_large = request.parts.iter().any(changes);
            Fixture::set(place, &request.source, with_large)
                .with_context(|| format!("cannot prepare {}", place.name))
        })
        .collect()
}

fn run_part(
    request: &Request,
    part: &Part,
    fixtures: &[Fixture],
    caller: &mut Caller<'_>,
) -> Result<()> {
    let mut here: Vec<&Fixture> = fixtures
        .iter()
        .filter(|fixture| part.places.contains(&fixture.name))
        .collect();
    let chosen = wanted(request, part.suite, caller)?;
    for round in 0..request.rounds {
        for workload in &chosen {
            let fitting = here.iter().filter(|fixture| (workload.fits)(fixture));
            for fixture in fitting {
                let job = Job {
                    fixture,
                    sizes: &request.sizes,
                    round: round as usize,
                    rounds: request.rounds as usize,
                };
                both_caches(request, part, workload, &job, caller)?;
            }
        }
        // Each round starts with another place.
        if !here.is_empty() {
            here.rotate_left(1);
        }
    }
    Ok(())
}

/// Returns the suite's workloads that the request selects and the system can run.
fn wanted(
    request: &Request,
    suite: Suite,
    caller: &mut Caller<'_>,
) -> Result<Vec<&'static Workload>> {
    let mut chosen = Vec::new();
    for workload in workloads::for_suite(suite) {
        let words = &request.only;
        if !words.is_empty()
            && !words
                .iter()
                .any(|word| workload.name.contains(word.as_str()))
        {
            continue;
        }
        match (workload.lacks)() {
            None => chosen.push(workload),
            Some(reason) => caller.send(&Line::LeftOut {
                suite,
                workload: workload.name.to_owned(),
                reason,
            })?,
        }
    }
    Ok(chosen)
}

/// Measures cold caches first: the data that this reads is warm afterwards.
fn both_caches(
    request: &Request,
    part: &Part,
    workload: &Workload,
    job: &Job<'_>,
    caller: &mut Caller<'_>,
) -> Result<()> {
    let states: &[CacheState] = if part.cold {
        &[CacheState::Cold, CacheState::Warm]
    } else {
        &[CacheState::Warm]
    };
    for &cache in states {
        if (workload.rounds_max)() <= job.round {
            continue;
        }
        let measured = measure(workload, job, || match cache {
            CacheState::Cold => caller.drop_caches(request.ask_host),
            CacheState::Warm => {
                if request.settle {
                    rustix::fs::sync();
                }
                Ok(())
            }
        });
        let line = match measured {
            Ok(record) => Line::Measured(Record {
                suite: Some(part.suite),
                workload: workload.name.to_owned(),
                place: job.fixture.name.clone(),
                round: u32::try_from(job.round)?,
                cache: Some(cache),
                ..record
            }),
            Err(error) => Line::LeftOut {
                suite: part.suite,
                workload: workload.name.to_owned(),
                reason: format!("{}, round {}: {error:#}", job.fixture.name, job.round),
            },
        };
        caller.send(&line)?;
        job.fixture.clear()?;
    }
    Ok(())
}

fn measure(
    workload: &Workload,
    job: &Job<'_>,
    ready: impl FnOnce() -> Result<()>,
) -> Result<Record> {
    let act = (workload.prepare)(job)?;
    ready()?;
    let before_bytes = job.fixture.used_bytes()?;
    let mut samples = Samples::default();
    let begun = Instant::now();
    act(&mut samples)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut record = samples.record();
    record.seconds = seconds;
    if workload.grows {
        rustix::fs::sync();
        record.growth_bytes = Some(job.fixture.used_bytes()? - before_bytes);
    }
    Ok(record)
}
