use std::sync::{Mutex, MutexGuard, PoisonError};

use msb_sdk::PullEvent;

/// The progress of the pull of an image, as a line of text.
#[derive(Debug, Default)]
pub(crate) struct PullProgress(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    stage: Option<&'static str>,
    total_bytes: u64,
    read_bytes: u64,
}

impl PullProgress {
    /// Notes an event of the pull.
    pub(crate) fn note(&self, event: &PullEvent) {
        let mut state = self.lock();
        match event {
            PullEvent::Resolving { .. } => state.stage = Some("the registry is asked"),
            PullEvent::Image { layers, .. } => {
                let sizes = layers.iter().map(|layer| layer.size_bytes);
                state.total_bytes = sizes.fold(0, u64::saturating_add);
                state.stage = Some("the image is pulled");
            }
            PullEvent::LayerBytes { bytes, .. } => {
                state.read_bytes = state.read_bytes.saturating_add(*bytes);
            }
            PullEvent::Retrying { .. } => state.stage = Some("the registry is asked again"),
            PullEvent::Merging { .. } => state.stage = Some("the image is merged"),
            PullEvent::Done { .. } => state.stage = Some("the sandbox is started"),
            _ => {}
        }
    }

    /// Returns what is being done, and how far it is.
    pub(crate) fn message(&self) -> String {
        let state = self.lock();
        let stage = state.stage.unwrap_or("the sandbox is started");
        if state.read_bytes == 0 || stage == "the sandbox is started" {
            return stage.to_owned();
        }
        let mib = |bytes: u64| bytes >> 20;
        let (read, total) = (mib(state.read_bytes), mib(state.total_bytes));
        format!("{stage}: {read} of {total} MiB")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_has_the_bytes_of_all_layers() {
        let progress = PullProgress::default();
        assert_eq!(progress.message(), "the sandbox is started");
        let events = r#"[
            {"type": "resolving", "name": "debian"},
            {"type": "image", "name": "debian", "digest": "sha256:0", "layers": [
                {"diff_id": "a", "size_bytes": 2097152}, {"diff_id": "b", "size_bytes": 1048576}
            ]},
            {"type": "layer-bytes", "diff_id": "a", "bytes": 1048576},
            {"type": "layer-bytes", "diff_id": "b", "bytes": 1048576}
        ]"#;
        let events: Vec<PullEvent> = serde_json::from_str(events).expect("events");
        for event in &events {
            progress.note(event);
        }
        assert_eq!(progress.message(), "the image is pulled: 2 of 3 MiB");
        progress.note(&PullEvent::Done {
            digest: "sha256:0".to_owned(),
        });
        assert_eq!(progress.message(), "the sandbox is started");
    }
}
