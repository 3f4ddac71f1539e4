/// A pattern of paths cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a pattern: {reason}", .pattern.escape_ascii())]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: Vec<u8>,
    /// The reason.
    pub reason: &'static str,
}

/// A pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    components: Vec<Component>,
    /// True if the pattern matches paths from the root; otherwise it is one component, which matches a name
    /// in any directory.
    is_rooted: bool,
    /// True if the pattern matches directories only.
    is_of_directories: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Component {
    /// `**`: any number of directories.
    Directories,
    Name(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`: one character.
    Any,
    /// `*`: any number of characters.
    Star,
    /// `[...]`: a byte of ranges, or with `!` one of none.
    Class {
        ranges: Vec<(u8, u8)>,
        is_negated: bool,
    },
}

impl Pattern {
    pub(super) fn parse(text: &[u8]) -> Result<Self, InvalidPattern> {
        let invalid = |reason| InvalidPattern {
            pattern: text.to_vec(),
            reason,
        };
        let body = text.strip_suffix(b"/").unwrap_or(text);
        let path = body.strip_prefix(b"/").unwrap_or(body);
        if path.is_empty() {
            return Err(invalid("it has no name"));
        }
        let mut components = Vec::new();
        for name in split(path) {
            match name {
                b"" | b"." => {}
                b".." => return Err(invalid("a path has no component '..'")),
                b"**" => components.push(Component::Directories),
                name => components.push(Component::Name(tokens(name).map_err(invalid)?)),
            }
        }
        Ok(Self {
            components,
            is_rooted: body.contains(&b'/'),
            is_of_directories: body.len() < text.len(),
        })
    }

    /// Returns true if the pattern matches a path or a directory above it.
    pub(super) fn matches_within(&self, names: &[&[u8]], is_directory: bool) -> bool {
        (1..=names.len()).any(|length| {
            let is_directory = length < names.len() || is_directory;
            (is_directory || !self.is_of_directories) && self.matches(&names[..length])
        })
    }

    fn matches(&self, names: &[&[u8]]) -> bool {
        match (self.components.as_slice(), names) {
            ([Component::Name(tokens)], [.., name]) if !self.is_rooted => is_name(tokens, name),
            (components, names) => is_path(components, names),
        }
    }

    /// Iterates over the components that match one name each.
    pub(super) fn literals(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.components.iter().filter_map(|component| {
            let Component::Name(tokens) = component else {
                return None;
            };
            let bytes = tokens.iter().map(|token| match token {
                Token::Byte(byte) => Some(*byte),
                _ => None,
            });
            bytes.collect()
        })
    }
}

/// Splits a pattern at its slashes, none of which is escaped: no name has one.
fn split(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
}

fn tokens(name: &[u8]) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        tokens.push(match byte {
            b'*' => Token::Star,
            b'?' => Token::Any,
            b'\\' => {
                let (&byte, after) = rest.split_first().ok_or("it ends with a backslash")?;
                rest = after;
                Token::Byte(byte)
            }
            b'[' => {
                let (class, after) = class(rest).ok_or("a class has no ']'")?;
                rest = after;
                class
            }
            byte => Token::Byte(byte),
        });
    }
    Ok(tokens)
}

/// Parses a class behind its `[`. Returns what follows it, too. A `]` that comes first is one of the class.
fn class(text: &[u8]) -> Option<(Token, &[u8])> {
    let negated = text.strip_prefix(b"!").or_else(|| text.strip_prefix(b"^"));
    let is_negated = negated.is_some();
    let mut rest = negated.unwrap_or(text);
    let mut ranges = Vec::new();
    loop {
        let (&first, after) = rest.split_first()?;
        rest = after;
        if first == b']' && !ranges.is_empty() {
            return Some((Token::Class { ranges, is_negated }, rest));
        }
        match rest {
            [b'-', last, after @ ..] if *last != b']' => {
                ranges.push((first, *last));
                rest = after;
            }
            _ => ranges.push((first, first)),
        }
    }
}

/// Returns true if components match a path. Only the last `**` is tried again, so the time is at most the
/// product of both lengths.
fn is_path(components: &[Component], names: &[&[u8]]) -> bool {
    // The components behind the last `**`, and the names that it may have to match, too.
    let mut retry: Option<(&[Component], &[&[u8]])> = None;
    let (mut components, mut names) = (components, names);
    loop {
        match (components, names) {
            ([Component::Directories], names) => return !names.is_empty(),
            ([Component::Directories, after @ ..], _) => {
                retry = Some((after, names));
                components = after;
                continue;
            }
            ([], []) => return true,
            ([Component::Name(tokens), after @ ..], [name, others @ ..])
                if is_name(tokens, name) =>
            {
                (components, names) = (after, others);
                continue;
            }
            _ => {}
        }
        let Some((after, [_, others @ ..])) = retry else {
            return false;
        };
        retry = Some((after, others));
        (components, names) = (after, others);
    }
}

/// Returns true if tokens match a name. Only the last `*` is tried again, so the time is at most the product
/// of both lengths.
fn is_name(tokens: &[Token], name: &[u8]) -> bool {
    let mut retry: Option<(&[Token], &[u8])> = None;
    let (mut tokens, mut name) = (tokens, name);
    loop {
        match (tokens, name) {
            ([Token::Star, after @ ..], _) => {
                retry = Some((after, name));
                tokens = after;
                continue;
            }
            ([], []) => return true,
            ([token, after @ ..], [_, ..]) => {
                if let Some(length) = matched(token, name) {
                    (tokens, name) = (after, &name[length..]);
                    continue;
                }
            }
            _ => {}
        }
        let Some((after, [_, others @ ..])) = retry else {
            return false;
        };
        retry = Some((after, others));
        (tokens, name) = (after, others);
    }
}

/// Returns the number of bytes at the beginning of a name that a token matches. `None` if it does not.
fn matched(token: &Token, name: &[u8]) -> Option<usize> {
    let &first = name.first()?;
    match token {
        Token::Byte(byte) => (*byte == first).then_some(1),
        // The whole character, if it is one.
        Token::Any => {
            let length = name.utf8_chunks().next()?.valid().chars().next();
            Some(length.map_or(1, char::len_utf8))
        }
        Token::Class { ranges, is_negated } => {
            let is_in = ranges
                .iter()
                .any(|&(low, high)| (low..=high).contains(&first));
            (is_in != *is_negated).then_some(1)
        }
        Token::Star => None,
    }
}
