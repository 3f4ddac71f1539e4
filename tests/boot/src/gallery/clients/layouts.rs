//! Images whose certificates are where other distributions than Debian have them.

use anyhow::{Context as _, Result, ensure};
use test_fixtures::images::ServiceImage;
use test_support::describe;

use super::table::CLIENTS;
use super::{HOST, Scene};

/// An image, and the path of its certificates.
pub(in crate::gallery) struct Layout {
    pub(in crate::gallery) image: ServiceImage,
    bundle: &'static str,
}

/// The clients that are tried: both are in the image, and read no file of the distribution.
const TRIED: [&str; 2] = ["curl", "urllib"];
const CONFIG: &[&str] = &["--config.cmd=sleep", "--config.cmd=3000"];

/// Fedora has a bundle elsewhere. The third name of several distributions is the only one of some.
pub(in crate::gallery) static LAYOUTS: [Layout; 2] = [
    Layout {
        image: ServiceImage {
            name: "clients-fedora",
            packages: &["ca-certificates", "curl"],
            setup: "mkdir -p /etc/pki/tls/certs
mv /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt
rm -r /etc/ssl/certs",
            config: CONFIG,
        },
        bundle: "/etc/pki/tls/certs/ca-bundle.crt",
    },
    Layout {
        image: ServiceImage {
            name: "clients-alpine",
            packages: &["ca-certificates", "curl"],
            setup: "mv /etc/ssl/certs/ca-certificates.crt /etc/ssl/cert.pem
rm -r /etc/ssl/certs",
            config: CONFIG,
        },
        bundle: "/etc/ssl/cert.pem",
    },
];

/// Checks that the sandbox's bundle has the image's certificates and one more, and that clients trust it.
pub(in crate::gallery) fn trusted(layout: &Layout) -> Result<String> {
    let scene = Scene::start(&layout.image)?;
    let count = |path: &str| -> Result<usize> {
        let output = scene.run("grep -c BEGIN \"$1\"", path)?;
        ensure!(output.status.success(), "{}", describe(&output));
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    };
    let (own, all) = (count(layout.bundle)?, count("/etc/msb/ca.pem")?);
    ensure!(own > 100 && all == own + 1, "{own} and {all} certificates");
    for path in TRIED {
        let client = CLIENTS.iter().find(|client| client.path == path);
        let client = client.context("no such client")?;
        scene.try_client(client).context(path)?;
    }
    scene.end()?;
    Ok(format!("{own} certificates of the image, for {HOST}"))
}
