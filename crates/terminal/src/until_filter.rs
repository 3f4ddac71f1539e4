//! The filter of prunes, `until=DURATION`.

use std::time::Duration;

use anyhow::anyhow;

/// Parses `until=DURATION`.
///
/// # Errors
/// If the text is no such filter, with the way to write one.
pub fn parse_filter(text: &str) -> Result<Duration, String> {
    let Some(("until", duration)) = text.split_once('=') else {
        return Err(format!(
            "'{text}' is not a filter: write one such as until=24h"
        ));
    };
    parse_duration(duration).map_err(|error| {
        format!("'{duration}' is not a duration ({error}): write one such as 90m, 24h or 10d")
    })
}

/// Parses numbers with a unit each, such as `1h30m`.
fn parse_duration(text: &str) -> Result<Duration, anyhow::Error> {
    let mut seconds = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or_else(|| anyhow!("it has no unit"))?;
        let number: u64 = rest[..digits].parse()?;
        let unit = rest[digits..].chars().next().unwrap_or_default();
        let unit_s = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(anyhow!("'{unit}' is not a unit")),
        };
        let more = number.checked_mul(unit_s);
        seconds = more
            .and_then(|more| seconds.checked_add(more))
            .ok_or_else(|| anyhow!("it is too long"))?;
        rest = &rest[digits + unit.len_utf8()..];
    }
    if text.is_empty() {
        return Err(anyhow!("it is empty"));
    }
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let seconds = |text| parse_filter(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("until=90m"), Ok(5_400));
        assert_eq!(seconds("until=1h30m5s"), Ok(5_405));
        assert_eq!(seconds("until=10d"), Ok(864_000));
        for text in [
            "",
            "until",
            "until=",
            "until=5",
            "until=h",
            "until=5é",
            "since=5h",
        ] {
            parse_filter(text).expect_err(text);
        }
        parse_filter("until=99999999999999999999d").expect_err("too long");
    }
}
