//! Inputs of the targets for secrets, ended TLS, the network and the MCP server.

/// The placeholder of the targets' secret.
const PLACEHOLDER: &str = "msb-secret-0123456789abcdef0123456789abcdef01234567";
/// The placeholder as a password of `Basic`.
const BASIC: &str = "eDptc2Itc2VjcmV0LTAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc=";

type Seeds = Vec<(String, Vec<u8>)>;

fn named<const N: usize>(seeds: [(&str, Vec<u8>); N]) -> Seeds {
    let seeds = seeds.into_iter();
    seeds
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect()
}

/// Returns requests of a guest: a byte that chooses the pieces and the answers, then text. `H` is the header `Host`, `P` the
/// placeholder.
pub(super) fn requests() -> Seeds {
    let request = |choice: u8, text: &str| {
        let text = text.replace("{H}", "Host: api.example.com");
        let text = text.replace("{P}", PLACEHOLDER).replace("{B}", BASIC);
        [&[choice][..], text.as_bytes()].concat()
    };
    named([
        (
            "bearer",
            request(
                0,
                "GET /v1/models?a=b HTTP/1.1\r\n{H}\r\nAuthorization: Bearer {P}\r\n\r\n",
            ),
        ),
        (
            "basic",
            request(
                2,
                "GET / HTTP/1.1\r\n{H}\r\nAuthorization: Basic {B}\r\n\r\n",
            ),
        ),
        (
            "key-echoed",
            request(
                1,
                "POST /v1 HTTP/1.1\r\n{H}\r\nX-Api-Key: {P}\r\nContent-Length: 5\r\n\r\nhello",
            ),
        ),
        (
            "misplaced",
            request(
                4,
                "GET /{P} HTTP/1.1\r\n{H}\r\nUser-Agent: {P}\r\nAuthorization: Bearer {P} x\r\n\r\n",
            ),
        ),
        (
            "chunked",
            request(
                6,
                "POST / HTTP/1.1\r\n{H}\r\nTransfer-Encoding: chunked\r\nX-Auth-Token: {P}\r\n\r\n5\r\nhello\r\n0\r\nX-Trailer: a\r\n\r\n",
            ),
        ),
        (
            "two",
            request(
                0,
                "GET /1 HTTP/1.1\r\n{H}\r\nApi-Key: {P}\r\n\r\nDELETE /2 HTTP/1.1\r\n{H}\r\nConnection: close\r\n\r\n",
            ),
        ),
        (
            "two-lengths",
            request(
                0,
                "POST /1 HTTP/1.1\r\n{H}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n{H}\r\n\r\n",
            ),
        ),
        (
            "upgrade",
            request(
                0,
                "GET /ws HTTP/1.1\r\n{H}\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
            ),
        ),
        (
            "absolute",
            request(
                0,
                "GET https://api.example.com/x HTTP/1.1\r\n{H}\r\nExpect: 100-continue\r\nTE: trailers\r\n\r\n",
            ),
        ),
        (
            "connect",
            request(0, "CONNECT api.example.com:443 HTTP/1.1\r\n{H}\r\n\r\n"),
        ),
        (
            "bare-lines",
            request(
                0,
                "PUT / HTTP/1.1\n{H}\nKeep-Alive: 5\nContent-Length: 1\n\nx",
            ),
        ),
    ])
}

/// Returns scripts of answers: a byte that chooses the value, then text with instructions.
pub(super) fn answers() -> Seeds {
    named([
        ("whole", b"\x00you sent \xf2\x00.".to_vec()),
        ("split", b"\x00a\xf0\x05\xf0\x09\xf2\x00z".to_vec()),
        (
            "begins",
            b"\x01\xf1\x05\xf1\x09\xf0\x00\xf1\x0bend".to_vec(),
        ),
        ("base64", b"\x01{\"k\":\"\xf0\x14\xf3\x04\"}".to_vec()),
        ("url", b"\x02k=\xf5\x01\xf4\x02".to_vec()),
        ("json", b"\x01{\xf6\x00}".to_vec()),
        ("periodic", b"\x03aaaaaaa\xf0\x00b\xf0\x02\xf1\x07".to_vec()),
        ("plain", b"\x00nothing of it\xf0\x03at all".to_vec()),
    ])
}

/// Returns options, objects and messages about secrets.
pub(super) fn words() -> Seeds {
    let text = |text: &str| text.as_bytes().to_vec();
    let stored = r#"{"name":"K","to":["h.example:8443"],"from":"cmd:pass k","every_s":60,"placeholder":"{P}"}"#;
    named([
        (
            "short",
            text("GH_TOKEN@github.com,api.github.com:8443/repos/*:GET,HEAD"),
        ),
        (
            "long",
            text(
                "name=GH_TOKEN,from=cmd:gh auth token,every=50m,to=github.com,to=*.github.com,as=ghp_",
            ),
        ),
        (
            "file",
            text("name=K,to=h.example,in=header:X-Acme-Key,file=/run/key,from=file:~/.k"),
        ),
        (
            "query",
            text("name=K,to=h.example/v1/*:GET,POST,in=query:key"),
        ),
        (
            "object",
            text(r#"{"name":"K","to":["h.example"],"value":"0123456789","as":"sk-"}"#),
        ),
        ("stored", text(&stored.replace("{P}", PLACEHOLDER))),
        (
            "set",
            text(r#"{"set":{"name":"K","value":"0123456789","expires_ms":60000}}"#),
        ),
        ("remove", text(r#"{"remove":{"name":"K"}}"#)),
        ("list", text(r#""list""#)),
        (
            "states",
            text(r#"{"secrets":[{"name":"K","state":"held"},{"name":"L","state":"expired"}]}"#),
        ),
        (
            "refused",
            text(r#"{"refused":{"message":"the sandbox has no secret K"}}"#),
        ),
    ])
}

/// Returns messages of a client: a byte that leaves the greeting out if it is odd, then lines.
pub(super) fn messages() -> Seeds {
    let call = |tool: &str, arguments: &str| {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        format!("\0{line}\n").into_bytes()
    };
    let lines = |choice: &[u8], text: &str| [choice, text.as_bytes(), b"\n"].concat();
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"fuzz","version":"1"}}}"#;
    named([
        (
            "tools",
            lines(&[0], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        ),
        (
            "create",
            call(
                "sandbox_create",
                r#"{"image":"a","network":"listed","allow":["h.example:443"],"memory_mib":64}"#,
            ),
        ),
        (
            "exec",
            call(
                "sandbox_exec",
                r#"{"name":"b","command":"id","timeout_s":1,"env":{"A":"b"}}"#,
            ),
        ),
        (
            "write",
            call(
                "sandbox_write_file",
                r#"{"name":"b","path":"/x","base64":"eA==","mode":"0644"}"#,
            ),
        ),
        (
            "apply",
            call("sandbox_apply", r#"{"dry_run":false,"plan":"p"}"#),
        ),
        (
            "resource",
            lines(
                &[0],
                r#"{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":"msb://b/log"}}"#,
            ),
        ),
        (
            "cancel",
            lines(
                &[0],
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}",
            ),
        ),
        (
            "discover",
            lines(
                &[1],
                &format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{meta}}}"#
                ),
            ),
        ),
        (
            "greeting",
            lines(
                &[1],
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{}},"clientInfo":{"name":"f","version":"1"}}}"#,
            ),
        ),
        (
            "answer",
            b"\x01{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n[]\n\xff\n".to_vec(),
        ),
    ])
}
