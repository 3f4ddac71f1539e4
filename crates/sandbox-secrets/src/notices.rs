use msb_secrets::Secret;

/// The variables with which programs find a proxy for HTTPS.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Returns notices about the secrets of a new sandbox whose programs have these variables.
pub fn notices<'a>(
    secrets: &[Secret],
    variables: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    if secrets.is_empty() {
        return Vec::new();
    }
    let mut notices = msb_secrets::notices(secrets);
    let proxy = variables.into_iter().find(|name| PROXIES.contains(name));
    notices.extend(proxy.map(|name| {
        format!(
            "requests through the proxy of {name} carry placeholders and no secrets, because they are encrypted when \
             they leave the sandbox; name the hosts of the secrets in NO_PROXY"
        )
    }));
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_and_shared_hosts_are_told() {
        let secrets: [Secret; 2] = ["A@api.example.com", "B@*.githubusercontent.com"]
            .map(|text| text.parse().expect("a secret"));
        let told =
            |secrets: &[Secret], names: &[&'static str]| notices(secrets, names.iter().copied());
        assert!(told(&secrets[..1], &["PATH"]).is_empty());
        assert!(told(&[], &["HTTPS_PROXY"]).is_empty());
        let all = told(&secrets, &["PATH", "https_proxy"]);
        let [wide, proxy] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert!(wide.contains("secret B"), "{wide}");
        assert!(proxy.contains("https_proxy"), "{proxy}");
    }
}
