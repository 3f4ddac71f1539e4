//! The answers of `start`, in the forms of all versions of containerd.

use containerd_protocol::bootstrap::{BootstrapResult, Extension, PROTOCOL_TTRPC, VERSION_3};
use containerd_protocol::mount::MountCapabilities;
use containerd_protocol::{Any, Message as _};
use serde::Serialize;

use super::bootstrap::AnswerForm;

#[derive(Serialize)]
struct JsonAnswer<'a> {
    version: i32,
    address: &'a str,
    protocol: &'a str,
}

/// Returns the answer of `start` with the address of a shim that makes some mounts itself.
pub(super) fn answer(form: AnswerForm, address: &str, mounts: &MountCapabilities) -> Vec<u8> {
    match form {
        AnswerForm::Text => address.as_bytes().to_vec(),
        AnswerForm::Json => {
            let answer = JsonAnswer {
                version: VERSION_3,
                address,
                protocol: PROTOCOL_TTRPC,
            };
            serde_json::to_vec(&answer).expect("strings and numbers can be written as JSON")
        }
        AnswerForm::Protobuf => {
            let has_mounts = *mounts != MountCapabilities::default();
            let extension = has_mounts.then(|| Extension {
                value: Some(Any::pack(mounts)),
            });
            let result = BootstrapResult {
                version: VERSION_3,
                address: address.to_owned(),
                protocol: PROTOCOL_TTRPC.to_owned(),
                extensions: extension.into_iter().collect(),
                ..BootstrapResult::default()
            };
            result.encode_to_vec()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_bytes_that_each_containerd_reads() {
        let mounts = MountCapabilities {
            types: vec!["erofs".into()],
            transforms: vec!["mkfs".into()],
        };
        let answer = |form| answer(form, "unix:///s", &mounts);
        assert_eq!(answer(AnswerForm::Text), b"unix:///s");
        let json = br#"{"version":3,"address":"unix:///s","protocol":"ttrpc"}"#;
        assert_eq!(answer(AnswerForm::Json), json);
        let protobuf = b"\x08\x03\x12\x09unix:///s\x1a\x05ttrpc\x32\x35\x0a\x33\
            \x0a\x22containerd.types.MountCapabilities\x12\x0d\x0a\x05erofs\x12\x04mkfs";
        assert_eq!(answer(AnswerForm::Protobuf), protobuf);
    }
}
