/// Protocols of an exposed port.
const PROTOCOLS: [&str; 3] = ["tcp", "udp", "sctp"];

/// Returns the ports of a word of `EXPOSE`, `8000`, `53/udp` or `8000-8010/tcp`, as a config names
/// them: each with its protocol.
pub(super) fn ports(text: &str) -> Result<impl Iterator<Item = String> + use<>, String> {
    let (range, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let protocol = protocol.to_ascii_lowercase();
    if !PROTOCOLS.contains(&&protocol[..]) {
        return Err(format!("the protocol of '{text}' is not tcp, udp or sctp"));
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => {
            Ok((first..=last).map(move |port| format!("{port}/{protocol}")))
        }
        _ => Err(format!(
            "'{text}' is not a port from 1 to 65535, or a range of them such as 8000-8010"
        )),
    }
}

/// Returns a port; `None` if the text is not one, as a number without a sign.
fn number(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|&port| port != 0)?;
    is_number.then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_ranges_have_a_protocol() {
        let all = |text| ports(text).map(Iterator::collect::<Vec<_>>);
        assert_eq!(all("80"), Ok(vec!["80/tcp".to_owned()]));
        assert_eq!(all("53/UDP"), Ok(vec!["53/udp".to_owned()]));
        let range = ["8000/sctp", "8001/sctp"].map(str::to_owned).to_vec();
        assert_eq!(all("8000-8001/sctp"), Ok(range));
        assert_eq!(all("1-65535").map(|ports| ports.len()), Ok(65_535));
        for text in [
            "", "0", "65536", "http", "+80", "2-1", "1-", "-1", "80/icmp", "80/", "1-2-3",
        ] {
            assert!(all(text).is_err(), "{text}");
        }
    }
}
