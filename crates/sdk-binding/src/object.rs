use std::any::Any;
use std::sync::Arc;

/// An object that operations are called on.
pub(crate) trait Object: Send + Sync + 'static {
    /// The object's name in the dispatch table and in messages.
    const KIND: &'static str;

    /// Ends what must end although a call may still use the object. Everything else ends when the
    /// object is dropped.
    fn close(&self) {}
}

/// A shared object of any kind.
#[derive(Clone)]
pub(crate) struct Target {
    kind: &'static str,
    object: Arc<dyn Any + Send + Sync>,
    close: fn(&(dyn Any + Send + Sync)),
}

impl Target {
    pub(crate) fn new<O: Object>(object: O) -> Self {
        Self {
            kind: O::KIND,
            object: Arc::new(object),
            close: |object| {
                if let Some(object) = object.downcast_ref::<O>() {
                    object.close();
                }
            },
        }
    }

    /// Returns the object's name in the dispatch table.
    pub(crate) const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Closes the object; see [`Object::close`].
    pub(crate) fn close(&self) {
        (self.close)(self.object.as_ref());
    }

    /// Returns the object; `None` if it is of another kind.
    pub(crate) fn downcast<O: Object>(self) -> Option<Arc<O>> {
        self.object.downcast().ok()
    }
}
