//! The question to the client's user whether changes may be made.

use std::collections::BTreeMap;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest, InputRequests,
    InputRequiredResult,
};
use serde_json::Value;

use crate::call::Call;
use crate::failure::Stop;

/// The key of the question among those of a result.
const KEY: &str = "apply";

/// The answer of a client's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The user agrees.
    Given,
    /// The user does not agree, or does not answer.
    Refused,
    /// The client does not ask its user.
    NotOffered,
}

/// Has the client show its user a message, and ask for a yes. A client that is not asked during a call gets `state`,
/// and calls again with it.
pub(crate) async fn ask(call: &Call, message: String, state: &str) -> Result<Consent, Stop> {
    if !call.offers_questions() {
        return Ok(Consent::NotOffered);
    }
    if call.has_session() {
        let answer = call.ask(question(message)).await?;
        return Ok(answer.as_ref().map_or(Consent::Refused, consent));
    }
    if let Some(answer) = call.answer(KEY) {
        return Ok(consent(answer));
    }
    let request = InputRequest::Elicitation(question(message));
    let requests = InputRequests::from([(KEY.to_owned(), request)]);
    let asks = InputRequiredResult::new(Some(requests), Some(state.to_owned()));
    Err(Stop::Asks(Box::new(asks)))
}

/// Returns a form without fields: to accept it is the answer.
fn question(message: String) -> ElicitRequest {
    ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    })
}

/// Reads an answer. Everything but a yes is a no.
fn consent(answer: &Value) -> Consent {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => Consent::Given,
        _ => Consent::Refused,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        assert_eq!(consent(&json!({"action": "accept"})), Consent::Given);
        for answer in [
            json!({"action": "decline"}),
            json!({"action": "cancel", "content": {"apply": true}}),
            json!({"action": true}),
            json!({}),
            json!("accept"),
            Value::Null,
        ] {
            assert_eq!(consent(&answer), Consent::Refused, "{answer}");
        }
    }

    #[test]
    fn the_question_is_a_form_without_fields() {
        let written = serde_json::to_value(question("all?".to_owned())).expect("written");
        assert_eq!(written["method"], "elicitation/create");
        assert_eq!(written["params"]["message"], "all?");
        let schema = &written["params"]["requestedSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"], json!({}));
    }
}
