use serde::Serialize;

/// What figures were taken under: said beside every table.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Conditions {
    pub(crate) cache: Cache,
    pub(crate) durability: Durability,
    /// Where the files lie that are worked on.
    pub(crate) place: String,
    /// What else a reader must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// What was in memory before the clock started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cache {
    /// What is read had been read before.
    Warm,
    /// The guest's caches were dropped, the host's not.
    ColdGuest,
    /// The guest's and the host's caches were dropped.
    Cold,
    /// Caches make no difference, or each column says its own.
    Any,
}

/// What is on the disk when an operation is said to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// Nothing is promised: no operation syncs.
    None,
    /// Every file is synced before it counts as written.
    Synced,
    /// Nothing is written.
    ReadOnly,
    /// Rows differ, each says its own.
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
    /// In one sentence after the other, without full stops.
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
