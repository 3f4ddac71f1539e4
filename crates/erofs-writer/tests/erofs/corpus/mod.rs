//! Random trees, each written as one image or as a set of layers, and read by every reader.
//!
//! All readers must give the same dump, line by line. `cargo xtask erofs` sets the number of trees
//! and adds readers:
//!
//! | variable | meaning |
//! |---|---|
//! | `MSB_EROFS_TREES`, `MSB_EROFS_FIRST` | number of trees, and first number; a number is a seed |
//! | `MSB_EROFS_UTILS` | further erofs-utils: roots of unpacked packages, separated by `:` |
//! | `MSB_GO_EROFS` | the program of `ci/go-erofs` |

mod case;
mod extraction;
mod faults;
mod go_erofs;
mod readers;
mod statistics;
mod tally;

use std::io::Write;

use case::Case;
use tally::Tally;

/// Number of trees by default.
const TREES: u64 = 12;
/// Number of trees after which a long run reports its progress.
const PROGRESS: u64 = 250;

#[test]
fn oracle_corpus_agrees() {
    let first = number("MSB_EROFS_FIRST", 0);
    let trees = number("MSB_EROFS_TREES", TREES);
    let mut readers = readers::all();
    let mut tally = Tally::default();
    for number in first..first + trees {
        let case = Case::new(number);
        tally.enter(&case);
        if number > first && (number - first).is_multiple_of(PROGRESS) {
            say(&format!("so far: {} trees, all agree\n", number - first));
        }
        for reader in &mut readers {
            let verdict = reader.check(&case, &mut tally);
            if let Err(differences) = verdict {
                let differences = differences.join("\n");
                panic!("tree {number}, {}:\n{differences}", reader.name());
            }
        }
    }
    let names: Vec<&str> = readers.iter().map(|reader| reader.name()).collect();
    say(&format!("{tally}readers: {}\n", names.join(", ")));
}

/// Prints without the test harness, which would capture the text.
fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}
