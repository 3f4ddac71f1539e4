use std::time::Duration;

use image_export::{PushError, SaveError};
use image_import::{AddError, ArchiveError, ConvertError, ImportError, LoadError, PullError};
use image_store::{
    CheckError, DocumentsError, FindError, LayerTarError, Origin, PruneError, RemoveError, Store,
    TagError, VerifyError,
};
use oci_image::Digest;
use oci_layers::{Exceeded, Limit};
use oci_registry::{ConnectError, CredentialsError, LoginError, RegistryError};

use super::{broken, denied, full, missing};
use msb_sdk::Error;

pub(super) fn errors() -> Vec<Error> {
    [
        store(),
        documents(),
        pulls(),
        loads(),
        exports(),
        registries(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn digest() -> Digest {
    let digest = format!("sha256:{}", "9e".repeat(32));
    digest.parse().expect("a digest")
}

fn image() -> String {
    "debian".to_owned()
}

fn not_found() -> FindError {
    FindError::NotFound { name: image() }
}

fn exceeded() -> Exceeded {
    Exceeded {
        limit: Limit::ImageDocument,
        value: 4096,
    }
}

fn store() -> Vec<Error> {
    let platform = |text: &str| Box::new(text.parse().expect("a platform"));
    vec![
        Store::open("/proc/msb".as_ref()).expect_err("no store").into(),
        not_found().into(),
        FindError::NotFound { name: digest().to_string() }.into(),
        FindError::OtherPlatform {
            name: image(),
            wanted: platform("linux/arm64"),
            actual: platform("linux/amd64"),
        }
        .into(),
        FindError::Ambiguous { name: "9e".to_owned(), count: 2 }.into(),
        FindError::Io(broken()).into(),
        FindError::Io(denied()).into(),
        FindError::Io(missing()).into(),
        TagError::Find(not_found()).into(),
        TagError::Digest { name: image() }.into(),
        TagError::Io(full()).into(),
        RemoveError::Find(not_found()).into(),
        RemoveError::InUse { digest: digest() }.into(),
        RemoveError::Needed { digest: digest() }.into(),
        RemoveError::Busy.into(),
        RemoveError::Io(denied()).into(),
        PruneError::Busy.into(),
        PruneError::UnreadableName { path: "/refs/a".into() }.into(),
        PruneError::Io(full()).into(),
        VerifyError::Find(not_found()).into(),
        VerifyError::Busy.into(),
        VerifyError::Io(denied()).into(),
        CheckError::Io(broken()).into(),
        CheckError::Io(missing()).into(),
        CheckError::Io(denied()).into(),
        CheckError::Unreadable(image_store::Problem::Missing).into(),
        CheckError::Record { path: "/layer".into() }.into(),
    ]
}

fn documents() -> Vec<Error> {
    let absent = |origin| DocumentsError::Absent { image: digest(), origin };
    vec![
        absent(None).into(),
        absent(Some(Origin::Registry { reference: image(), plain_http: false })).into(),
        absent(Some(Origin::Path("/image.tar".into()))).into(),
        DocumentsError::Damaged { what: "config", image: digest(), source: None }.into(),
        DocumentsError::Io(denied()).into(),
    ]
}

fn pulls() -> Vec<Error> {
    let pull = |source| PullError::Registry { reference: image(), source };
    let import = |source| PullError::Import { reference: image(), source };
    let layer = |source| ImportError::Layer { digest: digest(), source };
    vec![
        pull(unauthorized(false)).into(),
        pull(unauthorized(true)).into(),
        pull(absent()).into(),
        pull(status(500)).into(),
        pull(status(429)).into(),
        pull(stalled()).into(),
        import(layer(ConvertError::Download(unauthorized(true)))).into(),
        import(layer(ConvertError::Download(stalled()))).into(),
        import(layer(ConvertError::Limit(exceeded()))).into(),
        import(layer(ConvertError::Io(full()))).into(),
        import(layer(ConvertError::Read { source: denied() })).into(),
        import(layer(ConvertError::Abandoned)).into(),
        import(ImportError::Limit(exceeded())).into(),
        import(ImportError::Io(broken())).into(),
        PullError::Io(full()).into(),
        PullError::Io(denied()).into(),
        AddError::Limit(exceeded()).into(),
        AddError::Import(Box::new(ImportError::Io(full()))).into(),
        AddError::Io(full()).into(),
        AddError::Io(denied()).into(),
    ]
}

fn loads() -> Vec<Error> {
    let archive = |source| LoadError::Archive {
        source_name: "a.tar".to_owned(),
        source: Box::new(source),
    };
    let many = |source_name: &str| LoadError::OneNameForMany {
        source_name: source_name.to_owned(),
        name: image(),
        images: 2,
    };
    let limit = ArchiveError::Limit { path: "a.tar".into(), source: exceeded() };
    vec![
        archive(ArchiveError::Io(missing())).into(),
        archive(ArchiveError::Io(full())).into(),
        archive(ArchiveError::Io(denied())).into(),
        archive(limit).into(),
        archive(ArchiveError::Empty { path: "a.tar".into() }).into(),
        many("a.tar").into(),
        many("standard input").into(),
        LoadError::Import {
            source_name: "a.tar".to_owned(),
            digest: digest(),
            source: Box::new(ImportError::Limit(exceeded())),
        }
        .into(),
        LoadError::Io(full()).into(),
    ]
}

fn exports() -> Vec<Error> {
    let registry = |source| PushError::Registry { reference: image(), source };
    let content = |source| SaveError::Content { name: "layer".to_owned(), source };
    let layer = || LayerTarError::Absent { layer: digest() };
    let absent_documents = || DocumentsError::Absent { image: digest(), origin: None };
    vec![
        PushError::Digest { reference: image() }.into(),
        PushError::Documents { source: absent_documents() }.into(),
        PushError::Layer {
            reference: image(),
            layer: digest(),
            origin: None,
            source: layer(),
        }
        .into(),
        PushError::Read { layer: digest(), source: denied() }.into(),
        PushError::Store(full()).into(),
        registry(absent()).into(),
        registry(unauthorized(true)).into(),
        registry(stalled()).into(),
        SaveError::Find(not_found()).into(),
        SaveError::Documents { image: image(), source: absent_documents() }.into(),
        SaveError::Layer { image: image(), source: LayerTarError::Damaged { layer: digest() } }
            .into(),
        content(broken()).into(),
        content(denied()).into(),
        SaveError::Output(missing()).into(),
        SaveError::Output(full()).into(),
        SaveError::Exists { path: "/oci".into() }.into(),
        SaveError::NeedsPath.into(),
        SaveError::Cancelled.into(),
        SaveError::Store(denied()).into(),
    ]
}

fn registries() -> Vec<Error> {
    let registry = || "ghcr.io".to_owned();
    let login = |source| LoginError::Registry { registry: registry(), source: Box::new(source) };
    let unreachable = |proxy: Option<&str>, source| RegistryError::Unreachable {
        registry: registry(),
        proxy: proxy.map(str::to_owned),
        source,
    };
    let helper = || CredentialsError::HelperMissing {
        helper: "pass".to_owned(),
        config: "/config.json".into(),
        has_login: true,
    };
    vec![
        LoginError::Name { text: "a b".to_owned(), problem: "it has a space" }.into(),
        LoginError::Credential { registry: registry(), problem: "the password is empty" }.into(),
        LoginError::Refused { registry: registry(), source: Box::new(unauthorized(true)) }.into(),
        LoginError::Store { registry: registry(), source: helper() }.into(),
        LoginError::Store { registry: registry(), source: CredentialsError::Io(denied()) }.into(),
        login(RegistryError::Credentials { registry: registry(), source: helper() }).into(),
        login(unreachable(None, ConnectError::Refused)).into(),
        login(unreachable(Some("p:3128"), ConnectError::TimedOut)).into(),
        login(unreachable(None, ConnectError::NotTls)).into(),
        login(unreachable(None, ConnectError::Name(missing()))).into(),
        login(absent()).into(),
    ]
}

fn unauthorized(credentials: bool) -> RegistryError {
    RegistryError::Unauthorized {
        registry: "ghcr.io".to_owned(),
        what: "the manifest".to_owned(),
        message: String::new(),
        credentials,
    }
}

fn absent() -> RegistryError {
    RegistryError::NotFound {
        registry: "ghcr.io".to_owned(),
        what: "manifest".to_owned(),
    }
}

fn status(status: u16) -> RegistryError {
    RegistryError::Status {
        registry: "ghcr.io".to_owned(),
        what: "the manifest".to_owned(),
        status,
        message: String::new(),
        retry_after: None,
    }
}

fn stalled() -> RegistryError {
    RegistryError::Stalled {
        what: "the manifest".to_owned(),
        after: Duration::from_secs(1),
    }
}
