//! DNS queries: parsed, and built anew to be forwarded.

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, RecordType};

use crate::name::DomainName;

/// The longest query that is read. One name with the additions of resolvers is far shorter.
pub(crate) const QUESTION_MAX_BYTES: usize = 1232;
/// The largest UDP answer that the host's resolvers may send, in bytes: it passes every path
/// unfragmented.
const ANSWER_BYTES: u16 = 1232;
/// Types that query a zone or all records, or are not data types (RFC 6895, section 3.1).
const NO_DATA_TYPES: std::ops::RangeInclusive<u16> = 249..=255;
const NO_TYPE: u16 = 0;
const OPT_TYPE: u16 = 41;

/// A query of the guest that may be forwarded. The host's resolvers get only the fields below.
#[derive(Debug)]
pub(crate) struct Question {
    /// The ID that the guest chose.
    pub(crate) id: u16,
    pub(crate) query: Query,
    pub(crate) name: DomainName,
    wants_recursion: bool,
    /// `None` if the guest does not use EDNS, otherwise the DNSSEC OK bit.
    dnssec_ok: Option<bool>,
}

/// A query that is not forwarded.
#[derive(Debug)]
pub(crate) enum Unasked {
    /// The message is not a query, and gets no answer.
    Silent,
    /// The gateway answers without asking a resolver.
    Answered {
        answer: Vec<u8>,
        code: ResponseCode,
        /// The query; `None` if the message has none.
        query: Option<Box<Query>>,
    },
}

impl Question {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Unasked> {
        if bytes.len() > QUESTION_MAX_BYTES {
            return Err(Unasked::Silent);
        }
        let message = Message::from_vec(bytes).map_err(|_| Unasked::Silent)?;
        if message.message_type != MessageType::Query {
            return Err(Unasked::Silent);
        }
        let refused = |code| match reply(&message, code) {
            Some(answer) => Unasked::Answered {
                answer,
                code,
                query: message.queries.first().cloned().map(Box::new),
            },
            None => Unasked::Silent,
        };
        let [query] = message.queries.as_slice() else {
            return Err(refused(ResponseCode::FormErr));
        };
        if message.op_code != OpCode::Query {
            return Err(refused(ResponseCode::NotImp));
        }
        if query.query_class() != DNSClass::IN || !is_of_data(query.query_type()) {
            return Err(refused(ResponseCode::Refused));
        }
        let Some(name) = DomainName::new(query.name().iter()) else {
            return Err(refused(ResponseCode::Refused));
        };
        Ok(Self {
            id: message.id,
            query: query.clone(),
            name,
            wants_recursion: message.recursion_desired,
            dnssec_ok: message.edns.as_ref().map(|edns| edns.flags().dnssec_ok),
        })
    }

    /// Encodes the query to be forwarded under another ID. `None` if it cannot be encoded.
    pub(crate) fn to_wire(&self, id: u16) -> Option<Vec<u8>> {
        let mut message = Message::query();
        message.metadata.id = id;
        message.metadata.recursion_desired = self.wants_recursion;
        message.add_query(self.query.clone());
        if let Some(dnssec_ok) = self.dnssec_ok {
            let mut edns = Edns::new();
            edns.set_max_payload(ANSWER_BYTES);
            edns.set_dnssec_ok(dnssec_ok);
            message.set_edns(edns);
        }
        message.to_vec().ok()
    }

    /// Returns a response without records. `None` if it cannot be encoded.
    pub(crate) fn reply(&self, code: ResponseCode) -> Option<Vec<u8>> {
        let mut question = Message::query();
        question.metadata.id = self.id;
        question.metadata.recursion_desired = self.wants_recursion;
        question.add_query(self.query.clone());
        reply(&question, code)
    }
}

fn is_of_data(record_type: RecordType) -> bool {
    let number = u16::from(record_type);
    !NO_DATA_TYPES.contains(&number) && ![NO_TYPE, OPT_TYPE].contains(&number)
}

fn reply(question: &Message, code: ResponseCode) -> Option<Vec<u8>> {
    let mut reply = Message::response(question.id, question.op_code);
    reply.add_queries(question.queries.iter().take(1).cloned());
    reply.metadata.recursion_desired = question.recursion_desired;
    reply.metadata.recursion_available = true;
    reply.metadata.response_code = code;
    reply.to_vec().ok()
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr::Name;

    use super::*;

    fn query(labels: &[&[u8]], record_type: RecordType) -> Query {
        let name = Name::from_labels(labels.iter().copied()).unwrap();
        Query::query(name, record_type)
    }

    fn message(queries: &[Query]) -> Message {
        let mut message = Message::query();
        message.metadata.id = 7;
        message.metadata.recursion_desired = true;
        message.metadata.checking_disabled = true;
        message.add_queries(queries.iter().cloned());
        message
    }

    #[track_caller]
    fn code(bytes: &[u8]) -> ResponseCode {
        match Question::parse(bytes).unwrap_err() {
            Unasked::Answered { answer, code, .. } => {
                let answered = Message::from_vec(&answer).unwrap().response_code;
                assert_eq!(answered, code);
                code
            }
            Unasked::Silent => panic!("no answer"),
        }
    }

    #[test]
    fn nothing_is_passed_on_but_the_question() {
        let mut asked = message(&[query(&[b"WWW", b"example"], RecordType::A)]);
        let mut edns = Edns::new();
        edns.set_max_payload(65_000);
        edns.set_dnssec_ok(true);
        asked.set_edns(edns);
        let record = hickory_proto::rr::Record::from_rdata(
            Name::from_ascii("elsewhere.example.").unwrap(),
            1,
            hickory_proto::rr::RData::A(std::net::Ipv4Addr::LOCALHOST.into()),
        );
        asked.add_additional(record.clone());
        asked.add_answer(record);
        let mut bytes = asked.to_vec().unwrap();
        bytes.extend_from_slice(b"and what is behind it");
        let passed_on = Question::parse(&bytes).unwrap().to_wire(99).unwrap();
        let passed_on = Message::from_vec(&passed_on).unwrap();
        assert_eq!(passed_on.id, 99);
        assert!(passed_on.recursion_desired && !passed_on.checking_disabled);
        assert_eq!(passed_on.queries, asked.queries);
        assert_eq!(passed_on.all_sections().count(), 0);
        let edns = passed_on.edns.as_ref().unwrap();
        assert!(edns.flags().dnssec_ok && edns.max_payload() == ANSWER_BYTES);
        assert!(edns.options().as_ref().is_empty());
        // Header; name, type and class; OPT record.
        assert_eq!(passed_on.to_vec().unwrap().len(), 12 + 13 + 4 + 11);
    }

    #[test]
    fn a_guest_without_edns_gets_answers_without_it() {
        let asked = message(&[query(&[b"example"], RecordType::MX)]);
        let question = Question::parse(&asked.to_vec().unwrap()).unwrap();
        let passed_on = Message::from_vec(&question.to_wire(1).unwrap()).unwrap();
        assert!(passed_on.edns.is_none());
    }

    #[test]
    fn odd_questions_are_answered_here() {
        let sound = query(&[b"example"], RecordType::A);
        let mut chaos = sound.clone();
        chaos.set_query_class(DNSClass::CH);
        for (queries, expected) in [
            (vec![], ResponseCode::FormErr),
            (vec![sound.clone(), sound.clone()], ResponseCode::FormErr),
            (vec![chaos], ResponseCode::Refused),
            (
                vec![query(&[b"x.allowed", b"test"], RecordType::A)],
                ResponseCode::Refused,
            ),
            (
                vec![query(&[b"a\0b"], RecordType::A)],
                ResponseCode::Refused,
            ),
        ] {
            assert_eq!(code(&message(&queries).to_vec().unwrap()), expected);
        }
        for number in [0, 41, 249, 250, 251, 252, 253, 254, 255] {
            let asked = message(&[query(&[b"example"], RecordType::from(number))]);
            let code = code(&asked.to_vec().unwrap());
            assert_eq!(code, ResponseCode::Refused, "type {number}");
        }
        let mut update = message(&[sound]);
        update.metadata.op_code = OpCode::Update;
        assert_eq!(code(&update.to_vec().unwrap()), ResponseCode::NotImp);
        let mut response = update.clone();
        response.metadata.message_type = MessageType::Response;
        let bytes = response.to_vec().unwrap();
        assert!(matches!(Question::parse(&bytes), Err(Unasked::Silent)));
        let long = vec![0; QUESTION_MAX_BYTES + 1];
        assert!(matches!(Question::parse(&long), Err(Unasked::Silent)));
    }
}
