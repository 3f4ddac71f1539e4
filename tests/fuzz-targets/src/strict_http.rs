//! A reader of HTTP/1.1 requests that knows one spelling of each, as the strictest server does.

/// A request, of which the body may not be complete.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: Vec<u8>,
    /// The headers, with their names in lower case.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// The length of head and body; `None` if more of them has to arrive.
    pub(crate) length: Option<usize>,
}

impl Request {
    /// Reads the request at the begin of some bytes. `None` if its head is not complete.
    ///
    /// # Panics
    /// If the head, or the part of the body that is there, can be read in two ways.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let end = find(bytes, b"\r\n\r\n")?;
        let head = &bytes[..end];
        let mut lines = split(head, b"\r\n").into_iter();
        let line = lines.next().expect("a split text has a part");
        let [method, target, version] = split(line, b" ")[..] else {
            panic!("the request line is {}", line.escape_ascii());
        };
        assert_eq!(version.escape_ascii().to_string(), "HTTP/1.1");
        assert!(is_token(method), "{}", method.escape_ascii());
        let is_plain = |byte: &u8| *byte > b' ' && *byte != 0x7f;
        assert!(target.iter().all(is_plain), "{}", target.escape_ascii());
        let headers: Vec<_> = lines.map(header).collect();
        let mut request = Self {
            method: text(method),
            target: target.to_vec(),
            headers,
            length: None,
        };
        let start = end + 4;
        let body = request.body_length(&bytes[start..]);
        request.length = body.map(|length| start + length);
        Some(request)
    }

    /// Returns the values of the headers of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let headers = self.headers.iter().filter(move |(one, _)| one == name);
        headers.map(|(_, value)| &value[..])
    }

    /// Returns the length of the body; `None` if more of it has to arrive.
    fn body_length(&self, bytes: &[u8]) -> Option<usize> {
        let lengths: Vec<_> = self.all("content-length").collect();
        let codings: Vec<_> = self.all("transfer-encoding").collect();
        match (&lengths[..], &codings[..]) {
            ([], []) => Some(0),
            ([length], []) => {
                assert!(length.iter().all(u8::is_ascii_digit) && !length.is_empty());
                // A guest may announce more than any number has.
                let length = text(length).parse().unwrap_or(usize::MAX);
                (length <= bytes.len()).then_some(length)
            }
            ([], [b"chunked"]) => chunked_length(bytes),
            _ => panic!("a body has lengths {lengths:?} and codings {codings:?}"),
        }
    }
}

/// Returns the length of a chunked body with its end; `None` if more of it has to arrive.
fn chunked_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        let end = find(rest, b"\r\n")?;
        let digits = text(&rest[..end]);
        let size = usize::from_str_radix(&digits, 16);
        let size = size.unwrap_or_else(|_| panic!("a chunk has the size {digits:?}"));
        at += end + 2;
        if size == 0 {
            return trailers_end(bytes, at);
        }
        let after = bytes.get(at + size..)?;
        let mark = after.get(..2)?;
        assert_eq!(mark, b"\r\n", "a chunk does not end");
        at += size + 2;
    }
}

/// Returns the end of trailers, which are headers up to an empty line.
fn trailers_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let rest = &bytes[at..];
        let end = find(rest, b"\r\n")?;
        at += end + 2;
        if end == 0 {
            return Some(at);
        }
        header(&rest[..end]);
    }
}

fn header(line: &[u8]) -> (String, Vec<u8>) {
    let colon = line.iter().position(|byte| *byte == b':');
    let colon = colon.unwrap_or_else(|| panic!("a header is {}", line.escape_ascii()));
    let (name, value) = line.split_at(colon);
    assert!(is_token(name), "a header is {}", line.escape_ascii());
    let value = value[1..].trim_ascii().to_vec();
    let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f;
    assert!(!value.iter().any(is_control), "{}", line.escape_ascii());
    (text(name).to_ascii_lowercase(), value)
}

/// Returns true for a token (RFC 9110, section 5.6.2).
fn is_token(bytes: &[u8]) -> bool {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_of_token)
}

pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn split<'a>(bytes: &'a [u8], separator: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = find(rest, separator) {
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
