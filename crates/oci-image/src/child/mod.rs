//! The config of an image that is made of another one.

mod instruction;
mod ports;
mod words;

use serde_json::{Map, Value, json};

pub use instruction::{Instruction, InvalidInstruction};

use crate::{Digest, ManifestError};

/// Fields of old configs of docker that describe the container that an image was made in.
const CONTAINER_FIELDS: [&str; 3] = ["container", "container_config", "docker_version"];

/// A reason why an image has no config of its own.
#[derive(Debug, thiserror::Error)]
pub enum ChildConfigError {
    /// The parent's config is not of the form of the OCI image specification.
    #[error(transparent)]
    Parent(#[from] ManifestError),
    /// An instruction is wrong with the values of the parent's variables.
    #[error(transparent)]
    Instruction(#[from] InvalidInstruction),
}

/// The parts of an image's config that the config of its parent does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildConfig {
    /// Time of creation, in the form of RFC 3339.
    pub created: String,
    /// Text that names what made the image, such as a command.
    pub created_by: String,
    /// Author of the image.
    pub author: Option<String>,
    /// Comment on the change.
    pub comment: Option<String>,
    /// Changes of the instructions for running the image, in their order.
    pub instructions: Vec<Instruction>,
    /// Diff ID of the further layer; `None` if the image has the layers of the other one.
    pub layer: Option<Digest>,
}

impl ChildConfig {
    /// Returns the config of the new image. Fields of the parent's config that msb does not know
    /// are kept.
    ///
    /// # Errors
    /// If the parent's config is not of the form of the OCI image specification, or an instruction
    /// has an empty name or a wrong port once its variables are replaced.
    pub fn config(&self, parent: &[u8]) -> Result<Vec<u8>, ChildConfigError> {
        let mut config: Map<String, Value> =
            serde_json::from_slice(parent).map_err(invalid_config)?;
        for field in CONTAINER_FIELDS {
            config.remove(field);
        }
        config.insert("created".to_owned(), json!(self.created));
        match &self.author {
            Some(author) => config.insert("author".to_owned(), json!(author)),
            None => config.remove("author"),
        };
        let run = object(&mut config, "config")?;
        instruction::apply(&self.instructions, run)?;
        let root = object(&mut config, "rootfs")?;
        root.insert("type".to_owned(), json!("layers"));
        if let Some(layer) = &self.layer {
            list(root, "diff_ids")?.push(json!(layer.to_string()));
        }
        let history = self.history();
        list(&mut config, "history")?.push(history);
        Ok(serde_json::to_vec(&config).map_err(invalid_config)?)
    }

    fn history(&self) -> Value {
        let mut entry = Map::new();
        let texts = [
            ("created", Some(&self.created)),
            ("created_by", Some(&self.created_by)),
            ("author", self.author.as_ref()),
            ("comment", self.comment.as_ref()),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                entry.insert(key.to_owned(), json!(text));
            }
        }
        if self.layer.is_none() {
            entry.insert("empty_layer".to_owned(), json!(true));
        }
        Value::Object(entry)
    }
}

/// Returns the object with this name, which is made if it does not exist or is `null`.
fn object<'a>(
    parent: &'a mut Map<String, Value>,
    key: &str,
) -> Result<&'a mut Map<String, Value>, ManifestError> {
    let value = parent.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value
        .as_object_mut()
        .ok_or_else(|| wrong_type(key, "an object"))
}

/// Returns the list with this name, which is made if it does not exist or is `null`.
fn list<'a>(
    parent: &'a mut Map<String, Value>,
    key: &str,
) -> Result<&'a mut Vec<Value>, ManifestError> {
    let value = parent.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!([]);
    }
    value
        .as_array_mut()
        .ok_or_else(|| wrong_type(key, "a list"))
}

fn wrong_type(key: &str, expected: &str) -> ManifestError {
    let message = format!("'{key}' is not {expected}");
    invalid_config(<serde_json::Error as serde::de::Error>::custom(message))
}

const fn invalid_config(source: serde_json::Error) -> ManifestError {
    ManifestError::Json {
        what: "image config",
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigFile;

    const PARENT: &[u8] = br#"{"architecture":"amd64","os":"linux","created":"2020-01-01T00:00:00Z",
        "author":"somebody","container":"0123","unknown":{"kept":[1]},
        "config":{"Env":["PATH=/bin","A=1"],"Cmd":["sh"],"Labels":null,"ExposedPorts":{"80/tcp":{}}},
        "rootfs":{"type":"layers","diff_ids":[]},"history":[{"created_by":"base"}]}"#;

    fn child(instructions: &[&str], layer: Option<Digest>) -> ChildConfig {
        let parse = |text: &&str| text.parse().expect("an instruction");
        ChildConfig {
            created: "2024-01-01T00:00:00Z".to_owned(),
            created_by: "msb commit".to_owned(),
            author: Some("a".to_owned()),
            comment: Some("work".to_owned()),
            instructions: instructions.iter().map(parse).collect(),
            layer,
        }
    }

    #[test]
    fn a_child_has_one_more_layer_and_one_more_step() {
        let layer = Digest::compute(b"layer");
        let bytes = child(&[], Some(layer)).config(PARENT).expect("a config");
        let config: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(config["rootfs"]["diff_ids"], json!([layer.to_string()]));
        assert_eq!(
            config["history"],
            json!([
                {"created_by": "base"},
                {"created": "2024-01-01T00:00:00Z", "created_by": "msb commit", "author": "a",
                    "comment": "work"},
            ])
        );
        assert_eq!(config["unknown"], json!({"kept": [1]}));
        assert_eq!(config.get("container"), None);
        assert_eq!(config["author"], "a");
        let parsed = ConfigFile::parse(&bytes).expect("valid");
        assert_eq!(parsed.diff_ids, [layer]);
        assert_eq!(
            bytes,
            child(&[], Some(layer)).config(PARENT).expect("again")
        );
        let bytes = child(&[], None).config(b"{}").expect("a config");
        let config: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(config["history"][0]["empty_layer"], true);
    }

    #[test]
    fn instructions_change_the_config() {
        let instructions = [
            "ENV PATH=$PATH:/x B='$A' \"C=${A}2\"",
            "env D some value",
            "CMD [\"python3\", \"-m\", \"http.server\"]",
            "EXPOSE 8080-8081 53/udp",
            "LABEL a=1 \"b c\"=\"d e\"",
            "USER app",
            "VOLUME /data /more",
            "WORKDIR /srv",
            "WORKDIR app/../bin",
            "STOPSIGNAL SIGINT",
        ];
        let bytes = child(&instructions, None).config(PARENT).expect("a config");
        let config = ConfigFile::parse(&bytes).expect("valid").config;
        let texts = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
        assert_eq!(
            config.env,
            texts(&["PATH=/bin:/x", "A=1", "B=$A", "C=12", "D=some value"])
        );
        assert_eq!(config.cmd, texts(&["python3", "-m", "http.server"]));
        assert_eq!(
            config.exposed_ports,
            texts(&["53/udp", "80/tcp", "8080/tcp", "8081/tcp"])
        );
        assert_eq!(config.volumes, texts(&["/data", "/more"]));
        let labels = config.labels.expect("labels");
        assert_eq!(labels.get("b c").map(String::as_str), Some("d e"));
        assert_eq!(config.user.as_deref(), Some("app"));
        assert_eq!(config.working_dir.as_deref(), Some("/srv/bin"));
        assert_eq!(config.stop_signal.as_deref(), Some("SIGINT"));
    }

    #[test]
    fn a_new_entrypoint_takes_the_old_command_away() {
        let of = |instructions: &[&str]| {
            let bytes = child(instructions, None).config(PARENT).expect("a config");
            let config = ConfigFile::parse(&bytes).expect("valid").config;
            (config.entrypoint, config.cmd)
        };
        let texts = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
        assert_eq!(of(&["ENTRYPOINT [\"/app\"]"]), (texts(&["/app"]), None));
        let shell = texts(&["/bin/sh", "-c", "exec app --all"]);
        assert_eq!(
            of(&["CMD [\"x\"]", "ENTRYPOINT exec app --all"]),
            (shell, texts(&["x"]))
        );
        assert_eq!(of(&["CMD []"]), (None, Some(Vec::new())));
    }

    #[test]
    fn an_instruction_that_its_variables_make_wrong_is_refused() {
        for (text, reason) in [
            ("ENV $NONE=1", "a name is empty"),
            ("LABEL ${NONE}=1", "a name is empty"),
            ("VOLUME $NONE", "a name is empty"),
            ("EXPOSE $A-$NONE", "'1-' is not a port from 1 to 65535"),
            (
                "EXPOSE 80/$A",
                "the protocol of '80/1' is not tcp, udp or sctp",
            ),
        ] {
            let error = child(&[text], None).config(PARENT).expect_err(text);
            let expected = format!("'{text}' is not an instruction: {reason}");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_config_of_another_form_is_refused() {
        for parent in [
            "",
            "[]",
            r#"{"config":5}"#,
            r#"{"rootfs":{"diff_ids":{}}}"#,
            r#"{"history":{}}"#,
        ] {
            let layer = Some(Digest::compute(b"layer"));
            let made = child(&["ENV A=1"], layer).config(parent.as_bytes());
            assert!(made.is_err(), "{parent}");
        }
    }
}
