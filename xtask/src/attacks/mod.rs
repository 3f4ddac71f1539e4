//! Attacks on a built msb, as `SECURITY.md` promises that they fail.
//!
//! Each part sets up what it attacks, and notes every attempt in the [`Tally`]: a line with what was tried and a
//! figure, or with what got through. To add a part, add a variant to [`Part`] and its function to [`Part::attacks`].

mod images;
pub(crate) mod network;
mod tally;
mod users;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::CheckArguments;
use crate::checks::Bed;
use tally::Tally;
pub(crate) use users::intrude;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    check: CheckArguments,
    /// Which attacks to make
    #[arg(long, value_enum, default_value = "all")]
    part: Part,
    /// How long attacks go on that have no end of their own, for each part
    #[arg(long, default_value_t = 1)]
    minutes: u64,
}

/// Which attacks to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    All,
    /// Those of hostile images, and of what guests leave on their disks.
    Images,
    /// Those of a hostile guest and of hostile peers on the process of a network; needs no machine.
    Network,
    /// Those of another user of the host; needs root, to become one.
    Users,
}

/// A part's attacks: the first error is of the setting, not of what is attacked.
type Attacks = fn(&Setting, &mut Tally) -> Result<()>;

impl Part {
    fn attacks(self) -> &'static [Attacks] {
        match self {
            Self::All => &[images::attack, network::attack, users::attack],
            Self::Images => &[images::attack],
            Self::Network => &[network::attack],
            Self::Users => &[users::attack],
        }
    }
}

/// What is attacked, and for how long.
struct Setting<'a> {
    bed: &'a Bed,
    /// When attacks end that have no end of their own.
    until: Instant,
}

/// Makes the attacks, prints a line for each, and fails where one got through.
pub(crate) fn run(arguments: Arguments) -> Result<String> {
    let limit = Duration::from_secs(arguments.minutes.saturating_mul(60));
    let part = arguments.part;
    let bed = arguments.check.bed();
    let mut tally = Tally::default();
    for attack in part.attacks() {
        let setting = Setting {
            bed: &bed,
            until: Instant::now() + limit,
        };
        attack(&setting, &mut tally)?;
    }
    let summary = tally.summary();
    if tally.failed > 0 || tally.passed == 0 {
        bail!("{summary}");
    }
    Ok(summary)
}
