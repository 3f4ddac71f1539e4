//! Layers that are downloaded in ranges. `oci-registry` has the tests of the ranges themselves.

use super::{Scenario, is_layer, play, pulled, refused};
use crate::server::{Answer, Request};

impl Scenario {
    /// Has the layer downloaded in ranges, of which it has six or seven.
    fn in_ranges(mut self) -> Self {
        let limits = &mut self.options.registry_limits;
        limits.range_from_bytes = 10_000;
        limits.range_bytes = 10_000;
        self
    }
}

/// Changes the answers to requests for ranges of the layer.
fn ranges_are(
    change: impl Fn(&Request, Answer) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    move |request, honest, _| {
        let range = request.headers.get("range");
        let is_range = range.is_some_and(|range| !range.ends_with('-'));
        if is_layer(request) && is_range {
            return change(request, honest);
        }
        honest
    }
}

fn reversed(mut answer: Answer) -> Answer {
    answer.body.reverse();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_in_ranges_is_the_layer_or_refused() {
    play(vec![
        pulled("honest", ranges_are(|_, honest| honest)).in_ranges(),
        pulled(
            "no ranges",
            ranges_are(|_, _| Answer::new(200, super::layer())),
        )
        .in_ranges(),
        pulled(
            "every range breaks off",
            ranges_are(|_, honest| {
                let half = honest.body.len() / 2;
                if half > 2000 {
                    honest.cut(half)
                } else {
                    honest
                }
            }),
        )
        .in_ranges(),
        pulled(
            "ranges that are not what they say, and a blob that is right",
            ranges_are(|_, honest| reversed(honest)),
        )
        .in_ranges(),
        pulled(
            "the last range is not what it says",
            ranges_are(|_, honest| {
                let is_last = honest.body.len() < 10_000;
                if is_last { reversed(honest) } else { honest }
            }),
        )
        .in_ranges(),
        refused(
            "ranges and a blob that are wrong",
            "its blob has digest",
            |request, honest, _| {
                if is_layer(request) {
                    reversed(honest)
                } else {
                    honest
                }
            },
        )
        .in_ranges(),
    ])
    .await;
}
