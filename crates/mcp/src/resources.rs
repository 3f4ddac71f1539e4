//! The logs of sandboxes as resources: `msb://NAME/log` and `msb://NAME/network`.

use msb_sdk::{LogOptions, LogSource};
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;
use crate::tools::log_text;

/// The scheme and the authority of a resource's URI.
const SCHEME: &str = "msb://";
/// The last lines of a log that a resource has.
const TAIL: usize = 2000;
/// The logs: the end of the URI, what it has, and its type.
const LOGS: [(&str, &str, &str); 2] = [
    ("log", "The output of the main command", "text/plain"),
    (
        "network",
        "Connections, refusals and DNS queries, one JSON object a line",
        "application/x-ndjson",
    ),
];

/// Returns the forms of the URIs.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let templates = LOGS.iter().map(|(end, description, mime_type)| {
        let form = format!("{SCHEME}{{name}}/{end}");
        ResourceTemplate::new(form, *end)
            .with_description(*description)
            .with_mime_type(*mime_type)
    });
    templates.collect()
}

/// Returns the logs of the sandboxes that the client sees.
pub(crate) async fn list(session: &Session) -> Result<Vec<Resource>, Stop> {
    let mut resources = Vec::new();
    for info in session.list().await? {
        for (end, description, mime_type) in LOGS {
            let uri = format!("{SCHEME}{}/{end}", info.name);
            let resource = Resource::new(uri, format!("{} {end}", info.name));
            resources.push(
                resource
                    .with_description(description)
                    .with_mime_type(mime_type),
            );
        }
    }
    Ok(resources)
}

/// Reads the log with this URI.
pub(crate) async fn read(
    session: &Session,
    call: &Call,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let missing = || {
        let uri = terminal_text::escaped(uri);
        ErrorData::resource_not_found(format!("no such resource: {uri}"), None)
    };
    let (name, source) = parsed(uri).ok_or_else(missing)?;
    let reading = async {
        let sandbox = session.sandbox(call, Some(name)).await?;
        let mut options = LogOptions::default();
        options.source = source;
        options.tail = Some(TAIL);
        call.awaited(log_text(&sandbox, options)).await
    };
    match reading.await {
        Ok(text) => {
            let contents = ResourceContents::text(text.text, uri);
            let mime_type = LOGS.iter().find(|(end, ..)| uri.ends_with(end));
            let mime_type = mime_type.map_or("text/plain", |(_, _, mime_type)| *mime_type);
            Ok(ReadResourceResult::new(vec![
                contents.with_mime_type(mime_type),
            ]))
        }
        Err(Stop::Failed(failure)) => Err(ErrorData::resource_not_found(failure.text(), None)),
        Err(Stop::Cancelled | Stop::Asks(_)) => Err(missing()),
    }
}

/// Returns the sandbox and the log of a URI.
fn parsed(uri: &str) -> Option<(&str, LogSource)> {
    let (name, end) = uri.strip_prefix(SCHEME)?.rsplit_once('/')?;
    let source = match end {
        "log" => LogSource::Output,
        "network" => LogSource::Network,
        _ => return None,
    };
    let is_name = !name.is_empty() && !name.contains('/');
    is_name.then_some((name, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_sandbox_and_its_log() {
        assert_eq!(parsed("msb://web/log"), Some(("web", LogSource::Output)));
        assert_eq!(
            parsed("msb://web/network"),
            Some(("web", LogSource::Network))
        );
        for uri in [
            "msb://web",
            "msb:///log",
            "msb://a/b/log",
            "msb://web/env",
            "file:///log",
            "",
        ] {
            assert_eq!(parsed(uri), None, "{uri}");
        }
    }
}
