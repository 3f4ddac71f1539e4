//! The runner. `msb-bench-runner facts ROOT` prints the properties of a system; `msb-bench-runner
//! run REQUEST` measures. Both print JSON. The request is also JSON, see
//! `msb_bench_runner::Request`. `msb-bench-runner gaps FILE` writes to a file and answers each line of
//! its input with the longest time in which no write ended; `msb-bench-runner nothing` ends at once.
//! `msb-bench-runner time warm|cold DIRECTORY PROGRAM...` and `msb-bench-runner cycle DIRECTORY ROUND` do the
//! work of `msb bench staged` and print the times as JSON.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut output = std::io::stdout().lock();
    match words.as_slice() {
        ["facts", root] => {
            let facts = msb_bench_runner::facts(Path::new(root))?;
            Ok(writeln!(output, "{}", serde_json::to_string(&facts)?)?)
        }
        ["run", request] => {
            let request = serde_json::from_str(request)?;
            msb_bench_runner::run(&request, &mut output, &mut std::io::stdin().lock())
        }
        ["gaps", file] => {
            let asked = std::io::BufReader::new(std::io::stdin());
            msb_bench_runner::measure_gaps(Path::new(file), &mut output, asked)
        }
        ["nothing"] => Ok(()),
        ["time", caches @ ("warm" | "cold"), directory, program @ ..] => {
            let has_cold_caches = *caches == "cold";
            let timed =
                msb_bench_runner::time_program(Path::new(directory), has_cold_caches, program)?;
            Ok(writeln!(output, "{}", serde_json::to_string(&timed)?)?)
        }
        ["cycle", directory, round] => {
            let times = msb_bench_runner::cycle(Path::new(directory), round.parse()?)?;
            Ok(writeln!(output, "{}", serde_json::to_string(&times)?)?)
        }
        _ => bail!(
            "usage: msb-bench-runner facts ROOT | run REQUEST | gaps FILE | nothing | \
             time warm|cold DIRECTORY PROGRAM... | cycle DIRECTORY ROUND"
        ),
    }
}
