use std::collections::BTreeMap;

/// Request for authentication in the `WWW-Authenticate` header of a 401 response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// The registry requires a token from this server.
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
    /// The registry requires a user name and a password with every request.
    Basic,
}

impl Challenge {
    /// Returns the first challenge that msb supports; a token is preferred. `None` if there is
    /// none.
    pub(crate) fn parse<'a>(headers: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let challenges: Vec<_> = headers.into_iter().flat_map(challenges).collect();
        let bearer = challenges
            .iter()
            .find(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if let Some((_, parameters)) = bearer
            && let Some(realm) = parameters.get("realm")
        {
            return Some(Self::Bearer {
                realm: realm.clone(),
                service: parameters.get("service").cloned(),
                scope: parameters.get("scope").cloned(),
            });
        }
        let basic = challenges
            .iter()
            .any(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
        basic.then_some(Self::Basic)
    }
}

/// Returns every challenge of one header: its scheme and its parameters, with lower-case names.
fn challenges(header: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() && after.is_empty() {
            return found;
        }
        if let Some(value) = after.strip_prefix('=') {
            let (value, after) = parameter(value);
            if let Some((_, parameters)) = found.last_mut() {
                parameters.insert(word.to_ascii_lowercase(), value);
            }
            rest = after;
        } else {
            found.push((word.to_owned(), BTreeMap::new()));
            rest = after;
        }
    }
}

/// Returns the value of a parameter, quoted or not, and the text that follows it.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[index + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_with_quotes_and_in_any_order() {
        let header = r#"Basic realm="x, y", bearer realm="https://a/t?q=\"1\"",service="s",scope="repository:a/b:pull,push""#;
        assert_eq!(
            Challenge::parse([header]),
            Some(Challenge::Bearer {
                realm: r#"https://a/t?q="1""#.to_owned(),
                service: Some("s".to_owned()),
                scope: Some("repository:a/b:pull,push".to_owned()),
            })
        );
        assert_eq!(Challenge::parse(["Basic"]), Some(Challenge::Basic));
        assert_eq!(
            Challenge::parse(["Negotiate", "Basic realm=x"]),
            Some(Challenge::Basic)
        );
    }

    #[test]
    fn nonsense_is_no_challenge() {
        for header in [
            "",
            "=",
            "===",
            "Bearer",
            "Bearer realm",
            "\"",
            "Bearer =\"",
            ",,, ,",
            "=\"\\",
        ] {
            assert_eq!(Challenge::parse([header]), None, "{header}");
        }
    }
}
