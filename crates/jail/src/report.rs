use std::fmt;

/// The state of a layer, with a description for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerStatus {
    /// The layer is completely on.
    On(String),
    /// A part is on; the host's kernel lacks the rest.
    Partly(String),
    /// The layer is off.
    Off(String),
}

/// One layer of a jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The name of the layer: `landlock`, `seccomp` or `privileges`.
    pub name: &'static str,
    /// The state of the layer.
    pub status: LayerStatus,
}

/// The state of each layer of a jail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Every layer that was tried, in the order of the attempts.
    pub layers: Vec<Layer>,
}

impl Report {
    /// Returns the layers that are not completely on.
    pub fn lacking(&self) -> impl Iterator<Item = &Layer> {
        let is_on = |layer: &&Layer| matches!(layer.status, LayerStatus::On(_));
        self.layers.iter().filter(move |layer| !is_on(layer))
    }

    pub(crate) fn add(&mut self, name: &'static str, status: LayerStatus) {
        self.layers.push(Layer { name, status });
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status {
            LayerStatus::On(detail) => write!(f, "{}: on, {detail}", self.name),
            LayerStatus::Partly(detail) => write!(f, "{}: partly on, {detail}", self.name),
            LayerStatus::Off(detail) => write!(f, "{}: off, {detail}", self.name),
        }
    }
}
