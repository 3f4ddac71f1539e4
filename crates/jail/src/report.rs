use std::fmt;

/// How a layer of a jail stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// All of it is on.
    On(String),
    /// A part is on; the host's kernel lacks the rest.
    Partly(String),
    /// Nothing of it is on.
    Off(String),
}

/// One layer of a jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What it is called: `landlock`, `seccomp`, `privileges`.
    pub name: &'static str,
    /// How it stands.
    pub standing: Standing,
}

/// Which layers were put on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Each layer that was tried.
    pub layers: Vec<Layer>,
}

impl Report {
    /// The layers that are not wholly on.
    pub fn lacking(&self) -> impl Iterator<Item = &Layer> {
        let is_on = |layer: &&Layer| matches!(layer.standing, Standing::On(_));
        self.layers.iter().filter(move |layer| !is_on(layer))
    }

    pub(crate) fn add(&mut self, name: &'static str, standing: Standing) {
        self.layers.push(Layer { name, standing });
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.standing {
            Standing::On(detail) => write!(f, "{}: on, {detail}", self.name),
            Standing::Partly(detail) => write!(f, "{}: partly on, {detail}", self.name),
            Standing::Off(detail) => write!(f, "{}: off, {detail}", self.name),
        }
    }
}
