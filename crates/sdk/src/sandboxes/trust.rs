//! The trust of a new sandbox's programs, and the placeholders of its secrets.

use msb_guest_trust::{HostAuthorities, Prepared, Request, Root, prepare};
use msb_runtime::network::Settings;
use oci_image::ImageConfig;

use super::SandboxOptions;
use crate::Error;

/// Makes what a new sandbox is given for the secrets and the rules for requests in its network's settings, which get
/// the placeholders, and for the authorities of the host. Blocks.
pub(super) fn prepared(
    options: &SandboxOptions,
    root: Root<'_>,
    (config, host): (&ImageConfig, Option<&HostAuthorities>),
    network: Option<&mut Settings>,
) -> Result<Prepared, Error> {
    let mut none = Settings::default();
    let settings = network.unwrap_or(&mut none);
    let user = options.user.as_deref().or(config.user.as_deref());
    let request = Request {
        requests: &settings.requests,
        host,
        image_environment: config.env.as_deref().unwrap_or_default(),
        variables: options.env.iter().map(|(name, _)| name).collect(),
        user: user.unwrap_or_default(),
        is_read_only: options.guest.read_only,
        root,
    };
    Ok(prepare(&mut settings.secrets, &request)?)
}
