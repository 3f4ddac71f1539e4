//! A question for a name, taken apart and built anew.

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, RecordType};

use crate::name::DomainName;

/// The longest question that is read. One name and what resolvers add to it are far shorter.
pub(crate) const QUESTION_MAX_BYTES: usize = 1232;
/// How long an answer over UDP the host's resolvers are told to be welcome, in bytes: what passes
/// every path unfragmented.
const ANSWER_BYTES: u16 = 1232;
/// Types that ask for a zone, or for all there is, or that are no types of data (RFC 6895, 3.1).
const NO_DATA_TYPES: std::ops::RangeInclusive<u16> = 249..=255;
const NO_TYPE: u16 = 0;
const OPT_TYPE: u16 = 41;

/// A question of the guest's that may be passed on. The host's resolvers get nothing of what the guest
/// sent but what is held here.
#[derive(Debug)]
pub(crate) struct Question {
    /// The guest's number for it.
    pub(crate) id: u16,
    pub(crate) query: Query,
    pub(crate) name: DomainName,
    wants_recursion: bool,
    /// Whether the guest speaks EDNS, and then, whether it takes DNSSEC records.
    dnssec_ok: Option<bool>,
}

/// A question that nobody is asked.
#[derive(Debug)]
pub(crate) enum Unasked {
    /// It is no question, and is not answered.
    Silent,
    /// It is answered with this.
    Answered(Vec<u8>),
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
        let refused = |code| reply(&message, code).map_or(Unasked::Silent, Unasked::Answered);
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

    /// Returns the question as it is passed on, under another number.
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

    /// Returns an answer without records.
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
            Unasked::Answered(answer) => Message::from_vec(&answer).unwrap().response_code,
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
        // header, name, type and class, OPT
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
