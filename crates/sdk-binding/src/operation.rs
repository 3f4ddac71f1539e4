//! An operation: its name, its parameters and its code.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::field_names::field_names;
use crate::object::{Object, Target};
use crate::parameters;

/// The name and parameters of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationInfo {
    /// The kind of object that the operation is called on: `client`, `sandbox`, `process` ...
    pub on: &'static str,
    /// The operation's name.
    pub name: &'static str,
    /// The names of its parameters.
    pub parameters: Vec<String>,
}

/// The future of an operation.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;

pub(crate) type Begin = dyn Fn(Target, &str, Vec<Bytes>) -> Result<Running, Failure> + Send + Sync;

/// A row of the table.
pub(crate) struct Operation {
    pub(crate) info: OperationInfo,
    pub(crate) begin: Box<Begin>,
}

impl Operation {
    /// Returns a row of the table: `run` takes the object, the parameters and the bulk data.
    pub(crate) fn new<O, P, F>(
        name: &'static str,
        run: impl Fn(Arc<O>, P, Vec<Bytes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        O: Object,
        P: DeserializeOwned + 'static,
        F: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        let names = field_names::<P>().iter().map(ToString::to_string);
        Self::with_names(name, names.collect(), run)
    }

    /// Returns a row whose parameters are options of msb-sdk, all of which have defaults.
    pub(crate) fn of_options<O, P, F>(
        name: &'static str,
        run: impl Fn(Arc<O>, P, Vec<Bytes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        O: Object,
        P: DeserializeOwned + Serialize + Default + 'static,
        F: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        // A flattened structure does not tell its fields, so they are read from its default.
        let names = match serde_json::to_value(P::default()) {
            Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        };
        Self::with_names(name, names, run)
    }

    fn with_names<O, P, F>(
        name: &'static str,
        parameters: Vec<String>,
        run: impl Fn(Arc<O>, P, Vec<Bytes>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        O: Object,
        P: DeserializeOwned + 'static,
        F: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        let known = parameters.clone();
        let begin = move |target: Target, text: &str, content: Vec<Bytes>| {
            let parameters = parameters::parse(name, text, &known)?;
            let object = target
                .downcast::<O>()
                .ok_or_else(|| Failure::no_operation(O::KIND, name))?;
            Ok(Box::pin(run(object, parameters, content)) as Running)
        };
        let info = OperationInfo {
            on: O::KIND,
            name,
            parameters,
        };
        Self {
            info,
            begin: Box::new(begin),
        }
    }
}
