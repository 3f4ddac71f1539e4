use std::fmt;

use anyhow::{Result, ensure};

use super::exceptions;
use super::loader::Ours;
use super::program::Verdicts;

/// The result of msb in one case, compared with the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    /// All engines make one tree, and msb makes it too.
    Equal,
    /// All engines refuse, and msb refuses too.
    Refused,
    /// The engines differ; msb agrees with some of them.
    WithSome,
    /// The engines differ or refuse; the reason for msb's own result is written down.
    Explained(&'static str),
    /// The engines make one tree and msb makes another.
    Wrong,
    /// The engines make one tree and msb refuses.
    WronglyRefused,
    /// The engines refuse and msb does not.
    WronglyTaken,
    /// The engines differ, and msb agrees with none of them.
    Alone,
}

/// A case with its result.
pub(super) struct Judgement {
    case: String,
    standing: Agreement,
    detail: String,
}

impl Judgement {
    pub(super) fn new(case: &str, verdicts: &Verdicts, ours: &Ours) -> Self {
        let trees: Vec<_> = verdicts
            .engines
            .iter()
            .filter_map(|(_, tree)| tree.as_ref().ok())
            .collect();
        let all = verdicts.engines.len();
        let is_one_tree =
            trees.len() == all && trees.windows(2).all(|pair| pair[0].agrees(pair[1]));
        let with_some = match &ours.tree {
            Ok(tree) => trees.iter().any(|other| tree.agrees(other)),
            Err(_) => trees.len() < all,
        };
        let standing = match (&ours.tree, is_one_tree, trees.is_empty()) {
            (Ok(_), true, _) if with_some => Agreement::Equal,
            (Err(_), _, true) => Agreement::Refused,
            (_, false, false) if with_some => Agreement::WithSome,
            (Ok(_), true, _) => Agreement::Wrong,
            (Err(_), true, _) => Agreement::WronglyRefused,
            (Ok(_), _, true) => Agreement::WronglyTaken,
            _ => Agreement::Alone,
        };
        let standing = match exceptions::reason(case) {
            Some(reason) if standing.is_failure() => Agreement::Explained(reason),
            _ => standing,
        };
        Self {
            case: case.to_owned(),
            standing,
            detail: detail(verdicts, ours),
        }
    }

    pub(super) fn is_failure(&self) -> bool {
        self.standing.is_failure()
    }

    /// Records a reason for which msb may differ from all engines.
    pub(super) const fn explain(&mut self, reason: &'static str) {
        self.standing = Agreement::Explained(reason);
    }
}

impl Agreement {
    fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Wrong | Self::WronglyRefused | Self::WronglyTaken | Self::Alone
        )
    }
}

/// Returns the result of msb and of each engine, one a line.
fn detail(verdicts: &Verdicts, ours: &Ours) -> String {
    let mut text = String::new();
    if let Err(error) = &ours.tree {
        text += &format!("\n    msb: refuses: {error}");
    }
    for (engine, tree) in &verdicts.engines {
        let said = match (tree, &ours.tree) {
            (Err(error), _) => format!("refuses: {error:.200}"),
            (Ok(tree), Ok(ours)) => ours
                .difference(tree)
                .map_or("as msb".to_owned(), |difference| {
                    format!("msb / it: {difference:.300}")
                }),
            (Ok(_), Err(_)) => "takes it".to_owned(),
        };
        text += &format!("\n    {engine}: {said}");
    }
    text
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}{}", self.standing, self.case, self.detail)
    }
}

/// Numbers of cases by result.
#[derive(Debug, Default)]
pub(super) struct Tally {
    equal: u32,
    refused: u32,
    with_some: u32,
    explained: u32,
    failed: u32,
    slowest_s: f64,
    largest_mib: u64,
}

impl Tally {
    pub(super) fn add(&mut self, judgement: &Judgement, ours: &Ours) {
        let count = match judgement.standing {
            Agreement::Equal => &mut self.equal,
            Agreement::Refused => &mut self.refused,
            Agreement::WithSome => &mut self.with_some,
            Agreement::Explained(_) => &mut self.explained,
            _ => &mut self.failed,
        };
        *count += 1;
        self.slowest_s = self.slowest_s.max(ours.seconds);
        self.largest_mib = self.largest_mib.max(ours.rss_mib);
    }

    /// Counts a case whose tree cannot be shown.
    pub(super) const fn add_unseen(&mut self) {
        self.failed += 1;
    }

    /// Returns the figures, or an error if a result is not explained.
    pub(super) fn verdict(&self) -> Result<String> {
        let Self {
            equal,
            refused,
            with_some,
            explained,
            failed,
            slowest_s,
            largest_mib,
        } = self;
        let all = equal + refused + with_some + explained + failed;
        let text = format!(
            "{all} cases: {equal} equal to all engines, {refused} refused by all and by msb, \
             {with_some} where engines differ and msb is with some, {explained} explained, {failed} not; \
             slowest {slowest_s:.2} s, largest {largest_mib} MiB"
        );
        ensure!(*failed == 0, "{text}");
        Ok(text)
    }
}
