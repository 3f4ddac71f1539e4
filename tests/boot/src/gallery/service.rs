//! A service of the gallery.

use test_fixtures::images::ServiceImage;

/// A service: its image, and how it proves that it works.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) image: ServiceImage,
    /// The user that it starts as beside the image's own: a user without rights, or root if the image
    /// has a `USER`. `None` if docker does not start it as another user either.
    pub(super) other_user: Option<&'static str>,
    pub(super) probe: Probe,
    /// A part of what it logs when it is ready.
    pub(super) log: &'static str,
    /// A script, by `msb exec` as root, that changes an answer: data, or a setting and a reload.
    pub(super) change: &'static str,
    /// The exit code after `stop`, under docker.
    pub(super) exit_code: i32,
}

/// A request to the published port.
#[derive(Debug)]
pub(super) struct Probe {
    /// The port in the sandbox.
    pub(super) port: u16,
    pub(super) request: &'static [u8],
    /// A part of the first answer.
    pub(super) answer: &'static [u8],
    /// A part of the answer after the change, and after a stop and a start.
    pub(super) changed: &'static [u8],
}

/// Returns a probe over HTTP, whose answers are `first` and `after`.
pub(super) const fn http(port: u16) -> Probe {
    Probe {
        port,
        request: b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
        answer: b"first",
        changed: b"after",
    }
}
