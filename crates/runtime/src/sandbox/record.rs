//! The record of a sandbox, `sandbox.json`: its description, sealed, with the number of the format.
//! It is written twice, the copy first. The record counts; the copy is read if the record is damaged.

use std::io::{self, Read as _};
use std::path::Path;

use fs_err as fs;
use oci_image::excerpt;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::{SandboxPaths, Spec};

/// The format that this msb writes, and the newest one that it reads. Format 0 is a description
/// alone, without a seal and without a copy; it is adopted when the sandbox is next changed or started.
const FORMAT_VERSION: u64 = 1;
/// Longest record that is read, in bytes. A command of 2 MiB is far below it, its escapes included.
const RECORD_MAX_BYTES: u64 = 64 << 20;

/// The record in the form of its file.
#[derive(Serialize)]
struct RecordFile<'a> {
    format_version: u64,
    sandbox: &'a Spec,
}

/// A record that was read.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) spec: Spec,
    /// The damage of the record, as a clause, if the description is from its copy.
    pub(crate) damage: Option<String>,
}

/// The reason that a sandbox's description cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Neither the record nor its copy is what was written.
    #[error("its record is damaged ({record}), and its copy is not usable either ({copy})")]
    Damaged {
        /// The fault of the record, as a clause.
        record: String,
        /// The fault of the copy, as a clause.
        copy: String,
    },
    /// A later msb has written the record in a format that this one does not read.
    #[error("its record has format {found}, this msb reads formats up to {FORMAT_VERSION}")]
    Newer {
        /// The format of the record.
        found: u64,
    },
    /// The record has a setting that this msb does not know, and would lose.
    #[error("its record has the setting '{field}', which this msb does not know")]
    UnknownField {
        /// The path of the setting in the description, shortened and escaped.
        field: String,
    },
    /// The record is intact, and no description that this msb understands.
    #[error("this msb does not understand its record: {reason}")]
    Unknown {
        /// The reason of the parser, shortened and escaped.
        reason: String,
    },
}

/// The known facts about a sandbox whose description cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Remains {
    /// The name, if the record's seal is intact or both files have the same one.
    pub(super) name: Option<String>,
    /// The digest of the image's manifest, if the record's seal is intact.
    pub(super) image_digest: Option<String>,
}

/// A reading of a record.
#[derive(Debug)]
pub(super) enum Reading {
    /// There is no record, so there is no sandbox.
    Missing,
    Read(Box<Record>),
    Unusable(RecordError, Remains),
}

/// The content of one file.
enum Content {
    Intact(Box<Spec>),
    /// The seal is intact, the description cannot be used.
    Foreign(RecordError, Remains),
    /// The file is not what was written: a clause, and the name that it seems to have.
    Damaged(String, Option<String>),
    Missing,
}

/// Reads the record in the directory of a sandbox, or its copy.
pub(super) fn read(files: &SandboxPaths) -> Reading {
    let id = files.directory.file_name().and_then(|name| name.to_str());
    let content = |path: &Path| content(path, id.unwrap_or_default());
    let (fault, name) = match content(&files.spec()) {
        Content::Missing => return Reading::Missing,
        Content::Intact(spec) => return intact(*spec, None),
        Content::Foreign(error, remains) => return Reading::Unusable(error, remains),
        Content::Damaged(fault, name) => (fault, name),
    };
    match content(&files.spec_copy()) {
        Content::Intact(spec) => intact(*spec, Some(fault)),
        Content::Foreign(error, remains) => Reading::Unusable(error, remains),
        Content::Missing => unusable(fault, "it does not exist".to_owned(), None),
        Content::Damaged(of_copy, name_of_copy) => {
            let is_same = name == name_of_copy;
            let name = name.filter(|_| is_same);
            unusable(fault, of_copy, name)
        }
    }
}

fn intact(spec: Spec, damage: Option<String>) -> Reading {
    Reading::Read(Box::new(Record { spec, damage }))
}

fn unusable(record: String, copy: String, name: Option<String>) -> Reading {
    let remains = Remains {
        name,
        image_digest: None,
    };
    Reading::Unusable(RecordError::Damaged { record, copy }, remains)
}

/// Reads one file. A file that cannot be read exists, and so does its sandbox.
fn content(path: &Path, id: &str) -> Content {
    let bytes = match bytes(path) {
        Ok(bytes) => bytes,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Content::Missing;
        }
        Err(error) => return Content::Damaged(format!("cannot read it: {}", error.kind()), None),
    };
    let content = match sealed_records::open::<Value>(&bytes) {
        Ok(record) => sealed(&record),
        Err(error) => of_format_0(&bytes, &error),
    };
    match content {
        Content::Intact(spec) if spec.id.as_str() != id => {
            Content::Damaged(format!("it is the record of sandbox {}", spec.id), None)
        }
        content => content,
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path)?;
    file.take(RECORD_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > RECORD_MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Returns the content of a record whose seal is intact.
fn sealed(record: &Value) -> Content {
    let version = record["format_version"].as_u64();
    let foreign = |error| Content::Foreign(error, remains(&record["sandbox"]));
    if let Some(found) = version.filter(|version| *version > FORMAT_VERSION) {
        return foreign(RecordError::Newer { found });
    }
    let fields = record.as_object();
    let mut names = fields.into_iter().flat_map(|fields| fields.keys());
    let of_format = ["format_version", "sandbox", "seal"];
    if let Some(field) = names.find(|name| !of_format.contains(&name.as_str())) {
        let field = excerpt(field);
        return foreign(RecordError::UnknownField { field });
    }
    described(&record["sandbox"])
}

/// Returns the content of a record of format 0. No damage turns a sealed record into one, because
/// it has the description's fields at its top.
fn of_format_0(bytes: &[u8], seal: &sealed_records::BrokenSeal) -> Content {
    let Ok(record) = serde_json::from_slice::<Value>(bytes) else {
        return Content::Damaged(seal.to_string(), None);
    };
    if record.get("id").is_none() || record.get("seal").is_some() {
        return Content::Damaged(seal.to_string(), remains(&record["sandbox"]).name);
    }
    match described(&record) {
        // No seal says that this is what was written.
        Content::Foreign(RecordError::Unknown { reason }, remains) => {
            Content::Damaged(reason, remains.name)
        }
        content => content,
    }
}

fn described(description: &Value) -> Content {
    let foreign = |error| Content::Foreign(error, remains(description));
    let unknown = |error: serde_json::Error| RecordError::Unknown {
        reason: excerpt(&error.to_string()),
    };
    let spec = match Spec::deserialize(description) {
        Ok(spec) => spec,
        Err(error) => return foreign(unknown(error)),
    };
    match serde_json::to_value(&spec) {
        Err(error) => foreign(unknown(error)),
        Ok(rewritten) => match sealed_records::unknown_field(description, &rewritten) {
            None => Content::Intact(Box::new(spec)),
            Some(field) => foreign(RecordError::UnknownField {
                field: excerpt(&field),
            }),
        },
    }
}

fn remains(description: &Value) -> Remains {
    let text = |key: &str| description[key].as_str().map(str::to_owned);
    let is_name = |name: &String| super::names::is_name(name);
    Remains {
        name: text("name").filter(is_name),
        image_digest: text("image_digest"),
    }
}

/// Writes the record and its copy, durably. A process that ends meanwhile leaves the old record or
/// the new one.
pub(super) fn write(files: &SandboxPaths, spec: &Spec) -> io::Result<()> {
    let sealed = seal(spec)?;
    durable_files::publish_in_order(&[&files.spec_copy(), &files.spec()], &sealed)
}

/// Returns true if the record and its copy are what a write of this description makes.
pub(super) fn is_settled(files: &SandboxPaths, spec: &Spec) -> io::Result<bool> {
    let sealed = seal(spec)?;
    let mut both = [files.spec(), files.spec_copy()].into_iter();
    Ok(both.all(|path| durable_files::holds(&path, &sealed)))
}

/// Returns true if the record is of this format, and its copy is not the same.
pub(super) fn has_damaged_copy(files: &SandboxPaths, spec: &Spec) -> bool {
    let has = |path: &Path, sealed: &[u8]| durable_files::holds(path, sealed);
    seal(spec).is_ok_and(|sealed| has(&files.spec(), &sealed) && !has(&files.spec_copy(), &sealed))
}

fn seal(spec: &Spec) -> io::Result<Vec<u8>> {
    sealed_records::seal(&RecordFile {
        format_version: FORMAT_VERSION,
        sandbox: spec,
    })
}

#[cfg(test)]
mod tests;
