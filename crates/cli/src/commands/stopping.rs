use msb_runtime::{NoSignal, StopSignal, Stopping};
use oci_image::ImageConfig;

use crate::failure::printable;
use crate::output;

// The options for the way a sandbox is stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct StoppingArguments {
    /// Signal that asks the command to end [default: the image's, or SIGTERM]
    #[arg(long, value_name = "SIGNAL")]
    stop_signal: Option<StopSignal>,
    /// Time limit for processes to end at msb stop
    #[arg(long, value_name = "SECONDS", default_value_t = Stopping::default().timeout_s)]
    stop_timeout: u64,
}

impl StoppingArguments {
    pub(crate) fn stopping(&self, image: &ImageConfig) -> Stopping {
        let images = || images_signal(image.stop_signal.as_deref());
        Stopping {
            signal: self.stop_signal.unwrap_or_else(images),
            timeout_s: self.stop_timeout,
        }
    }
}

/// Returns the image's stop signal, or the default if it has none. An unknown signal is reported,
/// and the default is used.
fn images_signal(text: Option<&str>) -> StopSignal {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return StopSignal::default();
    };
    text.parse().unwrap_or_else(|error: NoSignal| {
        let error = printable(&error.to_string());
        output::notice(&format!("the image's STOPSIGNAL is ignored: {error}"));
        StopSignal::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_signal_counts_before_the_images() {
        let image = ImageConfig {
            stop_signal: Some("SIGQUIT".to_owned()),
            ..ImageConfig::default()
        };
        let arguments = |stop_signal| StoppingArguments {
            stop_signal,
            stop_timeout: 3,
        };
        let signal = |typed: Option<StopSignal>| arguments(typed).stopping(&image).signal;
        assert_eq!(signal(None).to_string(), "SIGQUIT");
        assert_eq!(signal("INT".parse().ok()).to_string(), "SIGINT");
        assert_eq!(images_signal(Some("SIGRTMIN+3")), StopSignal::default());
    }
}
