//! Random trees, each written as one image or as a set of layers, each read by every reader there
//! is: all say the same, line by line.
//!
//! `cargo xtask erofs` sets how many trees there are and which readers join in:
//!
//! | variable | meaning |
//! |---|---|
//! | `MSB_EROFS_TREES`, `MSB_EROFS_FIRST` | how many trees, and the number of the first; a number is a seed |
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

/// How many trees are read where nobody says.
const TREES: u64 = 12;
/// After how many trees a long run says that it goes on.
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

/// Past the harness, which keeps what is printed to itself.
fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}
