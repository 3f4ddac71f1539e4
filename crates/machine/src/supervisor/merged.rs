//! The use of merged generations while the machine runs.

use generations::GenerationId;
use msb_agent_protocol::Status;
use msb_agent_protocol::v1::ReplaceMergedRequest;

use super::Supervisor;
use super::cut::status;
use crate::disk_cut::Merged;

impl Supervisor {
    /// Has the disk use the generation that others were merged into, durably.
    pub(super) async fn replace_merged(
        &self,
        request: &ReplaceMergedRequest,
    ) -> Result<(), Status> {
        let orders = self.cuts()?;
        let from = request.merged.iter().map(|id| generation(id));
        let merged = Merged {
            from: from.collect::<Result<_, _>>()?,
            into: generation(&request.into)?,
        };
        orders.replace_merged(merged).await.map_err(status)
    }
}

fn generation(id: &[u8]) -> Result<GenerationId, Status> {
    let id = id.try_into().ok().and_then(GenerationId::from_bytes);
    id.ok_or_else(|| Status::invalid_argument("the identifier of a generation has 16 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_has_16_bytes_that_are_not_all_zero() {
        assert_eq!(generation(&[7; 16]).expect("valid").to_bytes(), [7; 16]);
        for wrong in [&[7; 15][..], &[7; 17], &[0; 16], &[]] {
            generation(wrong).expect_err("no identifier");
        }
    }
}
