//! The answers to a client's requests.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;
use crate::{resources, tools};

/// The text that a model reads before the tools.
const INSTRUCTIONS: &str = "Sandboxes are Linux virtual machines for code that need not be trusted. Create one with \
    sandbox_create unless the session has one, and run commands in it with sandbox_exec. Nothing in a sandbox changes \
    the host: changes of staged directories are written there by sandbox_apply alone, once the user agrees. Take a \
    snapshot before a risky step, or run the step with snapshot true, and go back if it fails. A connection that is \
    refused is in sandbox_logs with the option that allows it, which the user gives to msb mcp.";

/// The server of one client.
#[derive(Debug)]
pub(crate) struct Server {
    session: Arc<Session>,
    tools: Vec<Tool>,
}

impl Server {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        let tools = tools::all(&session);
        Self { session, tools }
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call::new(context, request.input_responses, request.request_state);
        let arguments = request.arguments.unwrap_or_default();
        let running = tools::call(&self.session, &call, &request.name, arguments);
        let Some(running) = running else {
            let name = terminal_text::escaped(&request.name).into_owned();
            return Err(ErrorData::invalid_params(
                format!("no such tool: {name}"),
                None,
            ));
        };
        let outcome = async {
            let _turn = self.session.turn(&call).await?;
            running.await
        };
        match outcome.await {
            Ok(result) => Ok(result.into()),
            Err(Stop::Failed(failure)) => Ok(failure.result().into()),
            Err(Stop::Asks(asks)) => Ok((*asks).into()),
            // No client waits for this answer.
            Err(Stop::Cancelled) => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_resources()
            .enable_tools()
            .build();
        let implementation = Implementation::new("msb", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation.with_title("msb"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.answer(request, context).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match resources::list(&self.session).await {
            Ok(listed) => Ok(ListResourcesResult::with_all_items(listed)),
            Err(Stop::Failed(failure)) => Err(ErrorData::internal_error(failure.text(), None)),
            Err(_) => Ok(ListResourcesResult::default()),
        }
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = Call::new(context, None, None);
        let read = resources::read(&self.session, &call, &request.uri).await?;
        Ok(read.into())
    }
}
