//! DNS queries: the guest sends them to the gateway, and the host's resolvers answer them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::{RData, RecordType};
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::asks::Asked;
use crate::datagram_socket::connected_socket;
use crate::decision::{Decision, Reason};
use crate::gate::Gate;
use crate::limits::{
    ASKED_QUERIES_MAX, NAME_STREAM_TIMEOUT, NAME_STREAMS_MAX, QUESTIONS_MAX, RESOLVER_TIMEOUT,
};
use crate::link::host_address;
use crate::name::DomainName;
use crate::question::{QUESTION_MAX_BYTES, Question, Unasked};
use crate::recorder::Recorder;
use crate::replies::DATAGRAM_MAX_BYTES;
use crate::resolvers::Resolvers;
use crate::supervisor_messages::Told;

/// The largest answer accepted over UDP.
const UDP_ANSWER_MAX_BYTES: usize = 4096;
/// The largest answer accepted over TCP: the largest that its length field can express.
const STREAM_ANSWER_MAX_BYTES: usize = 65_535;

/// The transport that a query arrived over, and is forwarded over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Datagram,
    Stream,
}

/// The gateway's name service.
#[derive(Debug)]
pub(crate) struct NameService {
    gate: Gate,
    resolvers: Resolvers,
    recorder: Recorder,
    /// The queries that may wait for an answer of the user.
    asked: Semaphore,
    under_way: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

/// A message that answers a query.
struct Answer {
    code: ResponseCode,
    bytes: Vec<u8>,
}

impl NameService {
    pub(crate) fn new(gate: Gate, resolvers: Resolvers, recorder: Recorder) -> Self {
        Self {
            gate,
            resolvers,
            recorder,
            asked: Semaphore::new(ASKED_QUERIES_MAX),
            under_way: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            streams: Arc::new(Semaphore::new(NAME_STREAMS_MAX)),
        }
    }

    /// Returns a permit for a TCP connection with queries. `None` if there are too many.
    pub(crate) fn stream_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Starts to answer a query. `None` if too many are in progress; nothing is kept of it then.
    pub(crate) fn answer(
        self: &Arc<Self>,
        question: &[u8],
        transport: Transport,
    ) -> Option<impl Future<Output = Option<Vec<u8>>> + Send + 'static> {
        let place = Arc::clone(&self.under_way).try_acquire_owned().ok()?;
        let question = Question::parse(question);
        let service = Arc::clone(self);
        Some(async move {
            let answer = match question {
                Ok(question) => service.decide_and_answer(&question, transport).await,
                Err(Unasked::Answered {
                    answer,
                    code,
                    query,
                }) => {
                    if let Some(query) = query {
                        let decision = Decision::denied(Reason::Never);
                        service.recorder.answer(&query, None, decision, code);
                    }
                    Some(answer)
                }
                Err(Unasked::Silent) => None,
            };
            drop(place);
            answer
        })
    }

    /// Answers a query and records it.
    async fn decide_and_answer(
        &self,
        question: &Question,
        transport: Transport,
    ) -> Option<Vec<u8>> {
        let policy = self.gate.policy();
        let mut decision = policy.decide_name(&question.name);
        if !decision.is_allowed() && policy.asks_about(decision.reason) {
            decision = self.ask_user(&question.name, decision).await?;
        }
        let answer = if !decision.is_allowed() {
            reply(question, ResponseCode::NXDomain)
        } else if self.hides(question) {
            reply(question, ResponseCode::NoError)
        } else {
            self.find_answer(question, transport).await
        };
        let answer = answer?;
        let name = Some(&question.name);
        self.recorder
            .answer(&question.query, name, decision, answer.code);
        Some(answer.bytes)
    }

    /// Asks the user about a name that is denied, and returns the decision. `None` if too many queries wait: the guest
    /// repeats this one.
    async fn ask_user<'a>(&self, name: &DomainName, denied: Decision<'a>) -> Option<Decision<'a>> {
        if !name.is_of_hosts() {
            return Some(denied);
        }
        let mut pending = match self.gate.ask_about_name(&name.to_string()) {
            Asked::Waits(pending) => pending,
            Asked::Denied => return Some(Decision::denied(Reason::Asked)),
            Asked::Unasked => return Some(denied),
        };
        let _place = self.asked.try_acquire().ok()?;
        Some(match pending.told().await {
            Told::Allowed => {
                self.gate.policy().allow_once(name);
                Decision::allowed(Reason::Asked)
            }
            Told::Denied => Decision::denied(Reason::Asked),
            Told::Unanswered => denied,
        })
    }

    /// Returns true if the guest does not get the records that it queries.
    fn hides(&self, question: &Question) -> bool {
        match question.query.query_type() {
            // A guest has no IPv6: addresses that it cannot reach would only cost it time.
            RecordType::AAAA => true,
            // They would lead the guest to QUIC, and have keys to encrypt the name of the host in
            // a TLS hello: neither can be ended.
            RecordType::HTTPS | RecordType::SVCB => {
                self.gate.policy().ends_tls_of(&question.name.of_host())
            }
            _ => false,
        }
    }

    /// Asks the resolvers, one after the other.
    async fn find_answer(&self, question: &Question, transport: Transport) -> Option<Answer> {
        for resolver in self.resolvers.now() {
            let asked = ask(resolver, question, transport);
            let Ok(Ok(answer)) = timeout(RESOLVER_TIMEOUT, asked).await else {
                continue;
            };
            if let Some(answer) = self.check(question, answer, transport) {
                return Some(answer);
            }
        }
        reply(question, ResponseCode::ServFail)
    }

    /// Checks a resolver's answer to `question` and records its addresses. Returns it with the
    /// guest's query ID, truncated if it does not fit a datagram. `None` if it is not a usable
    /// answer.
    fn check(&self, question: &Question, answer: Vec<u8>, transport: Transport) -> Option<Answer> {
        let message = Message::from_vec(&answer).ok()?;
        let is_answer = message.message_type == MessageType::Response
            && message.queries.as_slice() == std::slice::from_ref(&question.query);
        // If a resolver fails, the next one is asked.
        let is_failure = matches!(
            message.response_code,
            ResponseCode::ServFail | ResponseCode::Refused
        );
        if !is_answer || is_failure {
            return None;
        }
        for record in &message.answers {
            if let RData::A(address) = &record.data {
                let ttl = Duration::from_secs(u64::from(record.ttl));
                let address = host_address(address.0);
                self.gate.policy().learn(&question.name, address, ttl);
                self.recorder.resolve(address, &question.name);
            }
        }
        let code = message.response_code;
        let mut bytes = if transport == Transport::Datagram && answer.len() > DATAGRAM_MAX_BYTES {
            message.truncate().to_vec().ok()?
        } else {
            answer
        };
        bytes
            .get_mut(..2)?
            .copy_from_slice(&question.id.to_be_bytes());
        Some(Answer { code, bytes })
    }

    /// Answers the queries on a stream (RFC 7766), one after the other.
    pub(crate) async fn serve_stream(self: &Arc<Self>, mut stream: DuplexStream) -> io::Result<()> {
        loop {
            let question = read_message(&mut stream, QUESTION_MAX_BYTES);
            let Ok(question) = timeout(NAME_STREAM_TIMEOUT, question).await else {
                return Ok(());
            };
            let Some(answer) = self.answer(&question?, Transport::Stream) else {
                return Ok(());
            };
            let Some(answer) = answer.await else {
                return Ok(());
            };
            let written = write_message(&mut stream, &answer);
            let Ok(written) = timeout(NAME_STREAM_TIMEOUT, written).await else {
                return Ok(());
            };
            written?;
        }
    }
}

/// Returns an answer of the gateway's own. `None` if it cannot be encoded.
fn reply(question: &Question, code: ResponseCode) -> Option<Answer> {
    let bytes = question.reply(code)?;
    Some(Answer { code, bytes })
}

/// Forwards a query to a resolver under a random ID, which an attacker cannot guess.
async fn ask(
    resolver: SocketAddr,
    question: &Question,
    transport: Transport,
) -> io::Result<Vec<u8>> {
    let mut id = [0; 2];
    getrandom(&mut id[..], GetRandomFlags::empty())?;
    let question = question.to_wire(u16::from_be_bytes(id));
    let question = question.ok_or(io::ErrorKind::InvalidInput)?;
    match transport {
        Transport::Datagram => ask_by_datagram(resolver, &question, id).await,
        Transport::Stream => {
            let mut stream = TcpStream::connect(resolver).await?;
            write_message(&mut stream, &question).await?;
            let answer = read_message(&mut stream, STREAM_ANSWER_MAX_BYTES).await?;
            if answer.starts_with(&id) {
                Ok(answer)
            } else {
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    }
}

async fn ask_by_datagram(
    resolver: SocketAddr,
    question: &[u8],
    id: [u8; 2],
) -> io::Result<Vec<u8>> {
    let socket = UdpSocket::from_std(connected_socket(resolver)?)?;
    socket.send(question).await?;
    let mut answer = vec![0; UDP_ANSWER_MAX_BYTES];
    loop {
        let length = socket.recv(&mut answer).await?;
        // Anything but an answer to this query may be forged.
        if answer[..length].starts_with(&id) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}

async fn read_message(
    stream: &mut (impl AsyncRead + Unpin),
    max_bytes: usize,
) -> io::Result<Vec<u8>> {
    let length = usize::from(stream.read_u16().await?);
    if length > max_bytes {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

async fn write_message(stream: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let framed = [&length.to_be_bytes(), message].concat();
    stream.write_all(&framed).await
}
