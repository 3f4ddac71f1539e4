use serde::Serialize;

/// The conditions of a table's figures, shown beside it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Conditions {
    pub(crate) cache: Cache,
    pub(crate) durability: Durability,
    /// The location of the files that are worked on.
    pub(crate) place: String,
    /// Further notes for the reader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// The state of the caches before the clock started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cache {
    /// The data had been read before.
    Warm,
    /// Only the guest's caches were dropped.
    ColdGuest,
    /// The guest's and the host's caches were dropped.
    Cold,
    /// Caches make no difference, or each column states its own.
    Any,
}

/// The state of the disk when an operation counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// No operation syncs, so nothing is guaranteed.
    None,
    /// Every file is synced before it counts as written.
    Synced,
    /// Nothing is written.
    ReadOnly,
    /// Rows differ, and each states its own.
    Mixed,
}

impl Cache {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Warm => "caches warm",
            Self::ColdGuest => "the guest's caches dropped, the host's not",
            Self::Cold => "the guest's and the host's caches dropped",
            Self::Any => "caches as each line says",
        }
    }
}

impl Durability {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::None => "nothing synced",
            Self::Synced => "every file synced",
            Self::ReadOnly => "nothing written",
            Self::Mixed => "synced where a line says so",
        }
    }
}

impl Conditions {
    /// Returns the conditions as sentences without full stops.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            self.cache.words().to_owned(),
            self.durability.words().to_owned(),
            self.place.clone(),
        ];
        words.extend(self.notes.iter().cloned());
        words
    }
}
