use crate::edge::EdgeFlows;
use crate::hellos::Hellos;
use crate::route::Routes;

/// The ways of connections out of the network.
#[derive(Debug)]
pub(crate) struct Ways {
    /// `None` if no TLS is ended.
    pub(crate) edge: Option<EdgeFlows>,
    pub(crate) hellos: Hellos,
    pub(crate) routes: Routes,
}
