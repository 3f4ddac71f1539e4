//! The answers to the requests of a client.

use std::sync::Arc;

use bytes::Bytes;
use msb_agent_protocol::Target;
use msb_sdk::ExecOptions;
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, Session as Peer, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Pty, Sig};

use crate::agent_socket::AgentSocket;
use crate::channels::{Channels, Control, Input};
use crate::command::Command;
use crate::guest::Guest;
use crate::intake::Intake;
use crate::output::Output;
use crate::serve_error::ServeError;
use crate::session::{Session, terminal_size};
use crate::{forward, signals};

/// The subsystem of files.
const SFTP: &str = "sftp";

/// The connection with a client.
pub(crate) struct Connection {
    guest: Guest,
    /// The user of the guest, once the client has named one.
    user: String,
    channels: Channels,
    intake: Arc<Intake>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Tasks have clones of the channels, and would run on.
        self.channels.close_all();
    }
}

impl Connection {
    pub(crate) fn new(guest: Guest, intake: Arc<Intake>) -> Self {
        Self {
            guest,
            user: String::new(),
            channels: Channels::default(),
            intake,
        }
    }

    fn accept_user(&mut self, user: &str) -> Auth {
        user.clone_into(&mut self.user);
        Auth::Accept
    }

    /// Takes the bytes of a channel, whose own buffer would stop the connection.
    fn output(&self, channel: Channel<Msg>) -> Output {
        let (_, half) = channel.split();
        Output::new(half, Arc::clone(&self.intake))
    }

    /// Runs the command of a channel that has none yet.
    fn start(
        &mut self,
        id: ChannelId,
        peer: &mut Peer,
        options: impl FnOnce(&str, Session) -> ExecOptions,
    ) -> Result<(), ServeError> {
        let Some((session, output)) = self.channels.take_idle(id) else {
            return Ok(peer.channel_failure(id)?);
        };
        let (guest, handle, user) = (self.guest.clone(), peer.handle(), self.user.clone());
        let (channels, intake) = (self.channels.clone(), Arc::clone(&self.intake));
        let has_agent = session.has_agent();
        let options = options(&user, session);
        peer.channel_success(id)?;
        self.channels.serve(id, |receivers| async move {
            let agent = if has_agent {
                // As with sshd, a command runs without an agent if there can be no socket.
                AgentSocket::listen(&guest, &user, &channels, &intake)
                    .await
                    .ok()
            } else {
                None
            };
            let command = Command { options, agent };
            command.run(guest, handle, output, receivers).await;
        });
        Ok(())
    }

    /// Connects a channel with a socket of the guest.
    async fn forward(
        &mut self,
        channel: Channel<Msg>,
        target: Option<Target>,
        reply: ChannelOpenHandle,
    ) {
        let id = channel.id();
        let Some(target) = target else {
            return reply.reject(ChannelOpenFailure::ConnectFailed).await;
        };
        if !self.channels.reserve(id) {
            return reply.reject(ChannelOpenFailure::ResourceShortage).await;
        }
        let (guest, output) = (self.guest.clone(), self.output(channel));
        self.channels.serve(id, |receivers| {
            forward::connect(guest, target, reply, output, receivers)
        });
    }

    /// Answers a request for a setting of a command.
    fn configure(
        &mut self,
        id: ChannelId,
        peer: &mut Peer,
        change: impl FnOnce(&mut Session) -> bool,
    ) -> Result<(), ServeError> {
        if self.channels.configure(id, change) {
            peer.channel_success(id)?;
        } else {
            peer.channel_failure(id)?;
        }
        Ok(())
    }
}

impl Handler for Connection {
    type Error = ServeError;

    async fn auth_none(&mut self, user: &str) -> Result<Auth, ServeError> {
        Ok(self.accept_user(user))
    }

    async fn auth_publickey(
        &mut self,
        user: &str,
        _: VerifiedPublicKey<'_>,
    ) -> Result<Auth, ServeError> {
        Ok(self.accept_user(user))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Peer,
    ) -> Result<(), ServeError> {
        let id = channel.id();
        if self.channels.reserve(id) {
            let output = self.output(channel);
            self.channels.open(id, output);
            reply.accept().await;
        } else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
        }
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Peer,
    ) -> Result<(), ServeError> {
        self.forward(channel, forward::port(host, port), reply)
            .await;
        Ok(())
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        path: &str,
        reply: ChannelOpenHandle,
        _: &mut Peer,
    ) -> Result<(), ServeError> {
        let target = forward::path(path);
        self.forward(channel, Some(target), reply).await;
        Ok(())
    }

    async fn pty_request(
        &mut self,
        id: ChannelId,
        name: &str,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        peer: &mut Peer,
    ) -> Result<(), ServeError> {
        let size = terminal_size(columns, rows);
        self.configure(id, peer, |session| session.set_terminal(name, size))
    }

    async fn env_request(
        &mut self,
        id: ChannelId,
        name: &str,
        value: &str,
        peer: &mut Peer,
    ) -> Result<(), ServeError> {
        self.configure(id, peer, |session| session.set_variable(name, value))
    }

    async fn agent_request(&mut self, id: ChannelId, _: &mut Peer) -> Result<bool, ServeError> {
        let offer = |session: &mut Session| {
            session.offer_agent();
            true
        };
        Ok(self.channels.configure(id, offer))
    }

    async fn shell_request(&mut self, id: ChannelId, peer: &mut Peer) -> Result<(), ServeError> {
        self.start(id, peer, |user, session| session.command(user, None))
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        peer: &mut Peer,
    ) -> Result<(), ServeError> {
        self.start(id, peer, |user, session| {
            session.command(user, Some(command))
        })
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        name: &str,
        peer: &mut Peer,
    ) -> Result<(), ServeError> {
        if name == SFTP {
            return self.start(id, peer, |user, _| Session::files(user));
        }
        Ok(peer.channel_failure(id)?)
    }

    async fn window_change_request(
        &mut self,
        id: ChannelId,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &mut Peer,
    ) -> Result<(), ServeError> {
        let size = terminal_size(columns, rows);
        self.channels.control(id, Control::Resize(size));
        Ok(())
    }

    async fn signal(&mut self, id: ChannelId, name: Sig, _: &mut Peer) -> Result<(), ServeError> {
        if let Some(signal) = signals::named(&name) {
            self.channels.control(id, Control::Signal(signal));
        }
        Ok(())
    }

    async fn data(&mut self, id: ChannelId, bytes: &[u8], _: &mut Peer) -> Result<(), ServeError> {
        let waiting = self.intake.keep(Bytes::copy_from_slice(bytes));
        let waiting = waiting.map_err(|_| ServeError::Flood)?;
        self.channels.send(id, Input::Data(waiting));
        Ok(())
    }

    async fn channel_eof(&mut self, id: ChannelId, _: &mut Peer) -> Result<(), ServeError> {
        self.channels.send(id, Input::End);
        Ok(())
    }

    async fn channel_close(&mut self, id: ChannelId, _: &mut Peer) -> Result<(), ServeError> {
        self.channels.close(id);
        Ok(())
    }
}
