use anyhow::Result;

/// Number of attempts that failed as they should, and of attempts that succeeded.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) passed: u32,
    pub(super) failed: u32,
}

impl Tally {
    /// Prints the outcome of an attempt: its figure, or the attack that succeeded.
    pub(super) fn note(&mut self, name: &str, outcome: Result<String>) {
        match outcome {
            Ok(figure) => {
                self.passed += 1;
                println!("ok      {name}: {figure}");
            }
            Err(breach) => {
                self.failed += 1;
                println!("FAILED  {name}: {breach:?}");
            }
        }
    }

    pub(super) fn summary(&self) -> String {
        format!("attacks: {} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_got_through_is_counted() {
        let mut tally = Tally::default();
        tally.note("one", Ok("0 of 7".to_owned()));
        tally.note("other", Err(anyhow::anyhow!("3 of 7")));
        assert_eq!(tally.summary(), "attacks: 1 passed, 1 failed");
    }
}
