//! Questions for names: asked at the gateway, answered by the host's resolvers.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::{RData, RecordType};
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::limits::{NAME_STREAM_LIMIT, QUESTIONS_MAX, RESOLVER_LIMIT};
use crate::policy::Policy;
use crate::replies::DATAGRAM_MAX_BYTES;
use crate::resolvers::Resolvers;

/// The largest answer that is taken over UDP, in bytes; what a resolver may send at all.
const UDP_ANSWER_MAX_BYTES: usize = 4096;

/// Over what a question came, and is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Datagram,
    Stream,
}

/// The gateway's name service.
#[derive(Debug)]
pub(crate) struct NameService {
    policy: Arc<Policy>,
    resolvers: Resolvers,
    under_way: Semaphore,
}

impl NameService {
    pub(crate) const fn new(policy: Arc<Policy>, resolvers: Resolvers) -> Self {
        Self {
            policy,
            resolvers,
            under_way: Semaphore::const_new(QUESTIONS_MAX),
        }
    }

    /// Answers a question; `None` where it is none, or too many are under way.
    pub(crate) async fn answer(&self, question: &[u8], transport: Transport) -> Option<Vec<u8>> {
        let _place = self.under_way.try_acquire().ok()?;
        let message = Message::from_vec(question).ok()?;
        if message.message_type != MessageType::Query {
            return None;
        }
        if let Some(code) = self.refusal(&message) {
            return reply(&message, code);
        }
        for resolver in self.resolvers.now() {
            let asked = ask(resolver, question, transport);
            let Ok(Ok(answer)) = timeout(RESOLVER_LIMIT, asked).await else {
                continue;
            };
            if let Some(answer) = self.check(&message, answer, transport) {
                return Some(answer);
            }
        }
        reply(&message, ResponseCode::ServFail)
    }

    /// What is answered without asking anybody.
    fn refusal(&self, message: &Message) -> Option<ResponseCode> {
        let [question] = message.queries.as_slice() else {
            return Some(ResponseCode::FormErr);
        };
        if message.op_code != OpCode::Query {
            return Some(ResponseCode::NotImp);
        }
        if !self.policy.resolves(&question.name().to_ascii()) {
            return Some(ResponseCode::NXDomain);
        }
        // A guest has no IPv6: addresses that it cannot reach would only cost it time.
        (question.query_type() == RecordType::AAAA).then_some(ResponseCode::NoError)
    }

    /// Takes an answer to `question`: with the guest's own number, and in a size that reaches it.
    fn check(&self, question: &Message, answer: Vec<u8>, transport: Transport) -> Option<Vec<u8>> {
        let message = Message::from_vec(&answer).ok()?;
        let is_answer = message.message_type == MessageType::Response
            && message.queries.as_slice() == question.queries.as_slice();
        // A resolver that fails is not the last word while there is another.
        let is_failure = matches!(
            message.response_code,
            ResponseCode::ServFail | ResponseCode::Refused
        );
        if !is_answer || is_failure {
            return None;
        }
        let name = question.queries.first()?.name().to_ascii();
        for record in &message.answers {
            if let RData::A(address) = &record.data {
                let ttl = Duration::from_secs(u64::from(record.ttl));
                self.policy.learn(&name, address.0, ttl);
            }
        }
        let mut answer = match transport == Transport::Datagram && answer.len() > DATAGRAM_MAX_BYTES
        {
            true => message.truncate().to_vec().ok()?,
            false => answer,
        };
        answer
            .get_mut(..2)?
            .copy_from_slice(&question.id.to_be_bytes());
        Some(answer)
    }

    /// Answers the questions on a stream (RFC 7766), one after the other.
    pub(crate) async fn serve_stream(&self, mut stream: DuplexStream) -> io::Result<()> {
        while let Ok(question) = timeout(NAME_STREAM_LIMIT, read_message(&mut stream)).await {
            let Some(answer) = self.answer(&question?, Transport::Stream).await else {
                break;
            };
            write_message(&mut stream, &answer).await?;
        }
        Ok(())
    }
}

/// An answer without records.
fn reply(question: &Message, code: ResponseCode) -> Option<Vec<u8>> {
    let mut reply = Message::response(question.id, question.op_code);
    reply.add_queries(question.queries.iter().take(1).cloned());
    reply.metadata.recursion_desired = question.recursion_desired;
    reply.metadata.recursion_available = true;
    reply.metadata.response_code = code;
    reply.to_vec().ok()
}

/// Passes a question on to a resolver under another number, which nobody can guess.
async fn ask(resolver: SocketAddr, question: &[u8], transport: Transport) -> io::Result<Vec<u8>> {
    let mut question = question.to_vec();
    let id = question
        .first_chunk_mut::<2>()
        .ok_or(io::ErrorKind::InvalidInput)?;
    getrandom(&mut id[..], GetRandomFlags::empty())?;
    let id = *id;
    match transport {
        Transport::Datagram => ask_by_datagram(resolver, &question, id).await,
        Transport::Stream => {
            let mut stream = TcpStream::connect(resolver).await?;
            write_message(&mut stream, &question).await?;
            let answer = read_message(&mut stream).await?;
            match answer.starts_with(&id) {
                true => Ok(answer),
                false => Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

async fn ask_by_datagram(
    resolver: SocketAddr,
    question: &[u8],
    id: [u8; 2],
) -> io::Result<Vec<u8>> {
    let any = match resolver {
        SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        SocketAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(resolver).await?;
    socket.send(question).await?;
    let mut answer = vec![0; UDP_ANSWER_MAX_BYTES];
    loop {
        let length = socket.recv(&mut answer).await?;
        // What is not an answer to this question is somebody's guess.
        if answer[..length].starts_with(&id) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}

async fn read_message(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

async fn write_message(stream: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let framed = [&length.to_be_bytes(), message].concat();
    stream.write_all(&framed).await
}
