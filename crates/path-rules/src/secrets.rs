//! Files of a project that hold secrets, by their names.

use crate::{Pattern, Rule, State};

/// A kind of files that hold secrets.
struct Secret {
    patterns: &'static [&'static str],
    /// Names that a pattern matches and that hold no secret.
    except: &'static [&'static str],
    /// The content of the files.
    content: &'static str,
}

/// The kinds. A pattern is here if the files that it matches hold a secret far more often than anything
/// else; a file that is hidden without need costs an agent more than a template of one.
const SECRETS: &[Secret] = &[
    Secret {
        // With the backups of editors.
        patterns: &[".env", ".env.*", ".env~"],
        // Templates, which are committed so that somebody fills them in.
        except: &[
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.dist",
            ".env.schema",
        ],
        content: "variables, which often hold passwords",
    },
    Secret {
        patterns: &["*.pem", "*.key", "*.pem~", "*.key~"],
        // Certificates, which are public: the authorities that certifi and OpenSSL trust, and the names
        // that certbot and docker write.
        except: &[
            "cacert.pem",
            "ca.pem",
            "ca-bundle.pem",
            "cert.pem",
            "chain.pem",
            "fullchain.pem",
        ],
        content: "a private key, or a certificate with one",
    },
    Secret {
        patterns: &["*.p12", "*.pfx"],
        except: &[],
        content: "a certificate with its private key",
    },
    Secret {
        // With the copies that people make: id_ed25519_work, id_rsa.old. Not id_*, which also names
        // sources such as id_map.rs.
        patterns: &["id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"],
        except: &["*.pub"],
        content: "a private key of SSH",
    },
    Secret {
        patterns: &[".ssh", ".gnupg"],
        except: &[],
        content: "private keys",
    },
    Secret {
        patterns: &[".netrc", ".git-credentials", ".pgpass", ".my.cnf"],
        except: &[],
        content: "passwords",
    },
    Secret {
        patterns: &[
            ".npmrc",
            ".pypirc",
            "**/.cargo/credentials",
            "**/.cargo/credentials.toml",
            "**/.gem/credentials",
        ],
        except: &[],
        content: "a token of a registry of packages",
    },
    Secret {
        patterns: &["**/.docker/config.json"],
        except: &[],
        content: "credentials of registries of images",
    },
    Secret {
        patterns: &[
            "**/.aws/credentials",
            "**/.azure",
            "**/.config/gcloud",
            "**/.kube/config",
            "credentials.tfrc.json",
            ".vault-token",
        ],
        except: &[],
        content: "credentials of a cloud",
    },
    Secret {
        patterns: &[
            "**/.config/gh/hosts.yml",
            "**/.claude/.credentials.json",
            "**/.codex/auth.json",
        ],
        except: &[],
        content: "a token of the command-line program of a service",
    },
];

/// Returns the default rules: files that hold secrets are hidden. Each rule has a reason.
///
/// # Examples
///
/// ```
/// use path_rules::{Rules, State};
///
/// let rules = Rules::with_defaults();
/// assert_eq!(rules.decide(b"web/.env.local").state, State::Hide);
/// assert_eq!(rules.decide(b"web/.env.example").state, State::Allow);
/// ```
#[must_use]
pub fn default_rules() -> Vec<Rule> {
    // A test parses every pattern.
    let parse = |text: &&str| Pattern::parse(text.as_bytes()).ok();
    let of_kind = |secret: &Secret| -> Vec<Rule> {
        let except: Vec<Pattern> = secret.except.iter().filter_map(parse).collect();
        let patterns = secret.patterns.iter().filter_map(parse);
        let rule =
            |pattern| Rule::new_default(pattern, except.clone(), State::Hide, secret.content);
        patterns.map(rule).collect()
    };
    SECRETS.iter().flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, Rules};

    #[test]
    fn every_pattern_of_the_table_is_a_rule() {
        let count: usize = SECRETS.iter().map(|secret| secret.patterns.len()).sum();
        let rules = default_rules();
        assert_eq!(rules.len(), count);
        for rule in &rules {
            assert_eq!(
                (rule.origin(), rule.state()),
                (Origin::Default, State::Hide)
            );
            assert!(rule.reason().is_some_and(|reason| !reason.is_empty()));
        }
        for except in SECRETS.iter().flat_map(|secret| secret.except) {
            let pattern = Pattern::parse(except.as_bytes()).expect(except);
            assert!(!pattern.is_anchored(), "{except}");
        }
    }

    #[test]
    fn secrets_are_hidden_and_their_templates_are_not() {
        let rules = Rules::with_defaults();
        for path in [
            ".env",
            "web/.env.local",
            ".env.production",
            "tls/server.pem",
            "tls/privkey.pem",
            "tls/server.key",
            "id_rsa",
            "keys/id_ed25519_work",
            "id_ecdsa_sk",
            "id_rsa.old",
            ".ssh/config",
            "home/.netrc",
            ".npmrc",
            ".pypirc",
            ".aws/credentials",
            "home/.aws/credentials",
            ".cargo/credentials.toml",
            ".docker/config.json",
            ".config/gcloud/access_tokens.db",
            "home/.kube/config",
            ".claude/.credentials.json",
            ".ENV",
            "web/.Env.Local",
            "tls/SERVER.PEM",
            "ID_RSA",
            ".AWS/credentials",
            ".env~",
            "tls/server.pem~",
            "tls/server.KEY~",
        ] {
            let decision = rules.decide(path.as_bytes());
            assert_eq!(decision.state, State::Hide, "{path}");
        }
        for path in [
            ".env.example",
            "web/.env.sample",
            ".env.template",
            ".envrc",
            "env",
            "src/id_map.rs",
            "id_ed25519.pub",
            "venv/certifi/cacert.pem",
            ".aws/config",
            ".cargo/config.toml",
            ".kube/cache/x",
            ".claude/settings.json",
            "src/key.rs",
            ".ENV.EXAMPLE",
            "",
        ] {
            let decision = rules.decide(path.as_bytes());
            assert_eq!(decision.state, State::Allow, "{path}");
            assert_eq!(decision.rule, None, "{path}");
        }
    }
}
