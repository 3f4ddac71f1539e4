//! Verification: a snapshot's record and the content of its generations against their digests.

use std::collections::HashMap;
use std::sync::Arc;

use generations::{GenerationId, Verified};
use msb_runtime::UpperPool;

use super::record::Records;
use super::{SandboxSnapshots, SnapshotError, SnapshotName};

/// The result of verifying one snapshot.
#[derive(Debug, Clone)]
pub struct VerifiedSnapshot {
    /// The snapshot's name.
    pub name: SnapshotName,
    /// The state of its content, or the first fault; snapshots that share a generation share its fault.
    pub content: Result<SnapshotContent, Arc<SnapshotError>>,
}

/// The content of a snapshot that is not damaged as far as can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotContent {
    /// All of it is what was recorded.
    Intact,
    /// A part had no digest yet; it has one from now on.
    Recorded,
}

impl SandboxSnapshots {
    /// Reads snapshots of the sandbox, running or not, as a whole and compares them with their digests; all
    /// snapshots if `names` is empty. A generation that has no digest gets one: a byte of it that
    /// changes later is found by the next verification.
    ///
    /// # Errors
    /// If the sandbox has no snapshot of one of the names.
    pub fn verify_snapshots(
        &self,
        names: &[String],
    ) -> Result<Vec<VerifiedSnapshot>, SnapshotError> {
        let pool = UpperPool::find(&self.files)?;
        let keeping = pool.as_ref().map(UpperPool::keep_generations);
        let _keeping = keeping.transpose()?;
        let records = Records::new(&self.files);
        let names = if names.is_empty() {
            records.names()?
        } else {
            let found = names.iter().map(|name| self.snapshot_name(name));
            found.collect::<Result<_, _>>()?
        };
        let mut verifier = Verifier {
            snapshots: self,
            pool,
            outcomes: HashMap::new(),
        };
        let verified = names.into_iter().map(|name| VerifiedSnapshot {
            content: verifier.verify(&records, &name),
            name,
        });
        Ok(verified.collect())
    }
}

/// A verification that reads each generation once.
struct Verifier<'a> {
    snapshots: &'a SandboxSnapshots,
    pool: Option<UpperPool>,
    outcomes: HashMap<GenerationId, Result<SnapshotContent, Arc<SnapshotError>>>,
}

impl Verifier<'_> {
    fn verify(
        &mut self,
        records: &Records,
        name: &SnapshotName,
    ) -> Result<SnapshotContent, Arc<SnapshotError>> {
        let state = records.read(name)?.state(records.path(name))?;
        let mut content = SnapshotContent::Intact;
        for id in state.generations {
            let outcome = match self.outcomes.get(&id) {
                Some(outcome) => outcome.clone(),
                None => self.verify_generation(id).map_err(Arc::new),
            };
            self.outcomes.insert(id, outcome.clone());
            if outcome? == SnapshotContent::Recorded {
                content = SnapshotContent::Recorded;
            }
        }
        Ok(content)
    }

    fn verify_generation(&self, id: GenerationId) -> Result<SnapshotContent, SnapshotError> {
        let pool = self.pool.as_ref().ok_or(SnapshotError::NoDisk)?;
        if pool.pool.verify(id)? == Verified::Content {
            return Ok(SnapshotContent::Intact);
        }
        let digest = pool.pool.open_sealed(id)?.digest()?;
        self.snapshots.set_digest(pool, id, digest)?;
        Ok(SnapshotContent::Recorded)
    }
}
