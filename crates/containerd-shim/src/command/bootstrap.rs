//! The settings of a start, which containerd gives as arguments and variables, and since 2.3 as a message, too.

use std::path::PathBuf;

use containerd_protocol::Message as _;
use containerd_protocol::bootstrap::BootstrapParams;

use super::arguments::Arguments;

/// The directory of shims' sockets.
const SOCKET_DIRECTORY: &str = "/run/containerd/s";

/// The form of the answer that containerd reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// The address. All versions read it, and then call version 2 of the Task service.
    Text,
    /// The object of containerd 2.0, for version 3 of the Task service.
    Json,
    /// The message of containerd 2.3.
    Protobuf,
}

/// The settings of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bootstrap {
    pub(super) form: AnswerForm,
    /// The address of containerd's ttrpc services.
    pub(super) ttrpc_address: String,
    /// The directory for the socket.
    pub(super) socket_directory: PathBuf,
}

/// The variables of a start.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables {
    /// `TTRPC_ADDRESS`.
    pub(super) ttrpc_address: Option<String>,
    /// `MAX_SHIM_VERSION`.
    pub(super) max_version: Option<String>,
}

impl Bootstrap {
    pub(super) fn new(arguments: &Arguments, variables: Variables, input: &[u8]) -> Self {
        // The options of older versions can be read as this message, too, but have another first field.
        let params = BootstrapParams::decode(input).ok();
        let params = params.filter(|params| params.instance_id == arguments.id);
        let version = variables
            .max_version
            .and_then(|version| version.parse::<u32>().ok());
        let form = match (&params, version) {
            (Some(_), _) => AnswerForm::Protobuf,
            (None, Some(3..)) => AnswerForm::Json,
            (None, _) => AnswerForm::Text,
        };
        let params = params.unwrap_or_default();
        let candidates = [
            params.containerd_ttrpc_address,
            variables.ttrpc_address.unwrap_or_default(),
        ];
        let given = candidates.into_iter().find(|address| !address.is_empty());
        let socket_directory = match params.socket_dir.as_str() {
            "" => SOCKET_DIRECTORY.into(),
            directory => directory.into(),
        };
        Self {
            form,
            ttrpc_address: given.unwrap_or_else(|| format!("{}.ttrpc", arguments.address)),
            socket_directory,
        }
    }
}

#[cfg(test)]
mod tests {
    use containerd_protocol::Any;
    use containerd_protocol::options::Options;

    use super::*;

    fn bootstrap(version: Option<&str>, input: &[u8]) -> Bootstrap {
        let arguments = Arguments {
            id: "a".into(),
            address: "/c.sock".into(),
            ..Arguments::default()
        };
        let variables = Variables {
            ttrpc_address: Some("/t.sock".into()),
            max_version: version.map(str::to_owned),
        };
        Bootstrap::new(&arguments, variables, input)
    }

    #[test]
    fn the_form_of_the_answer_is_that_of_the_input() {
        let params = BootstrapParams {
            instance_id: "a".into(),
            containerd_ttrpc_address: "/p.sock".into(),
            socket_dir: "/s".into(),
            ..BootstrapParams::default()
        };
        let found = bootstrap(Some("2"), &params.encode_to_vec());
        assert_eq!(found.form, AnswerForm::Protobuf);
        assert_eq!(
            (found.ttrpc_address.as_str(), found.socket_directory),
            ("/p.sock", "/s".into())
        );

        let options = Any::pack(&Options::default()).encode_to_vec();
        for (version, input, form) in [
            (None, &b""[..], AnswerForm::Text),
            (Some("2"), &options, AnswerForm::Text),
            (Some("3"), b"", AnswerForm::Json),
            (Some("x"), b"\xff", AnswerForm::Text),
        ] {
            let found = bootstrap(version, input);
            assert_eq!(
                (found.form, found.ttrpc_address.as_str()),
                (form, "/t.sock")
            );
            assert_eq!(found.socket_directory, PathBuf::from(SOCKET_DIRECTORY));
        }
    }

    #[test]
    fn without_a_variable_the_address_is_beside_that_of_grpc() {
        let arguments = Arguments {
            address: "/c.sock".into(),
            ..Arguments::default()
        };
        let found = Bootstrap::new(&arguments, Variables::default(), b"");
        assert_eq!(found.ttrpc_address, "/c.sock.ttrpc");
    }
}
