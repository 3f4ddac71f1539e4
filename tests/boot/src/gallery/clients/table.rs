//! The clients, as docs/secrets.md lists them.

use self::Trust::{Recipe, Variable};

/// A client of HTTPS.
pub(super) struct Client {
    /// The name in the document.
    pub(super) name: &'static str,
    /// The path of its request.
    pub(super) path: &'static str,
    /// A script that sends the secret to the URL `$1`, and prints the answer.
    pub(super) script: &'static str,
    pub(super) trust: Trust,
}

/// The way in which a client comes to trust the sandbox's authority.
#[derive(Clone, Copy)]
pub(super) enum Trust {
    /// A variable that every sandbox with a secret has.
    Variable(&'static str),
    /// A script that its user runs as root, and a name for it.
    Recipe(&'static str, &'static str),
}

impl Client {
    /// Returns the client's row in the document.
    pub(super) fn row(&self) -> String {
        match self.trust {
            Trust::Variable(variable) => format!("| {} | `{variable}` |", self.name),
            Trust::Recipe(recipe, _) => format!("| {} | {recipe} |", self.name),
        }
    }
}

const fn client(
    name: &'static str,
    path: &'static str,
    trust: Trust,
    script: &'static str,
) -> Client {
    Client {
        name,
        path,
        script,
        trust,
    }
}

/// The clients. rclone stands for programs in Go. A client that wants more than this server has prints its own `good`.
pub(super) const CLIENTS: &[Client] = &[
    client(
        "curl",
        "curl",
        Variable("CURL_CA_BUNDLE"),
        "curl -fsS -H \"Authorization: Bearer $KEY\" \"$1\"",
    ),
    client(
        "curl with a clock that is 12 hours behind",
        "behind",
        Variable("CURL_CA_BUNDLE"),
        "FAKETIME_DONT_FAKE_MONOTONIC=1 faketime -f -12h curl -fsS -H \"Authorization: Bearer $KEY\" \"$1\"",
    ),
    client(
        "git",
        "repository",
        Variable("GIT_SSL_CAINFO"),
        "export GIT_TERMINAL_PROMPT=0
git -c credential.helper='!f() { echo username=x-access-token; echo \"password=$KEY\"; }; f' ls-remote \"$1\" |
grep -q refs/heads/behind-a-secret && echo good",
    ),
    client(
        "Python's `urllib`",
        "urllib",
        Variable("SSL_CERT_FILE"),
        "python3 -c 'import os, sys, urllib.request as u
request = u.Request(sys.argv[1], headers={\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]})
print(u.urlopen(request).read().decode(), end=\"\")' \"$1\"",
    ),
    client(
        "Python's requests",
        "requests",
        Variable("REQUESTS_CA_BUNDLE"),
        "python3 -c 'import os, sys, requests
print(requests.get(sys.argv[1], headers={\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]}).text, end=\"\")' \"$1\"",
    ),
    client(
        "Python's httpx",
        "httpx",
        Variable("SSL_CERT_FILE"),
        "python3 -c 'import os, sys, httpx
print(httpx.get(sys.argv[1], headers={\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]}).text, end=\"\")' \"$1\"",
    ),
    client(
        "pip",
        "pip",
        Variable("PIP_CERT"),
        "index=\"https://x:$KEY@${1#https://}\"
python3 -m pip download --quiet --retries 0 --no-deps --dest /tmp/pip --index-url \"$index\" nothing >&2 || echo good",
    ),
    client(
        "Node.js",
        "node",
        Variable("NODE_EXTRA_CA_CERTS"),
        "node -e 'fetch(process.argv[1], {headers: {authorization: \"Bearer \" + process.env.KEY}})
.then(answer => answer.text()).then(text => process.stdout.write(text))' \"$1\"",
    ),
    client(
        "Go",
        "go",
        Variable("SSL_CERT_FILE"),
        "rclone copyurl --stdout --retries 1 --header \"Authorization: Bearer $KEY\" \"$1\"",
    ),
    client(
        "Ruby's `Net::HTTP`",
        "ruby",
        Variable("SSL_CERT_FILE"),
        "ruby -rnet/http -e 'print Net::HTTP.get(URI(ARGV[0]), {\"Authorization\" => \"Bearer \" + ENV[\"KEY\"]})' \"$1\"",
    ),
    client(
        "PHP's streams",
        "php",
        Variable("SSL_CERT_FILE"),
        "php -r '$http = [\"header\" => \"Authorization: Bearer \" . getenv(\"KEY\")];
echo file_get_contents($argv[1], false, stream_context_create([\"http\" => $http]));' -- \"$1\"",
    ),
    client(
        "Perl's `HTTP::Tiny`",
        "perl",
        Variable("SSL_CERT_FILE"),
        "perl -MHTTP::Tiny -e '$headers = {Authorization => \"Bearer $ENV{KEY}\"};
$answer = HTTP::Tiny->new(verify_SSL => 1)->get($ARGV[0], {headers => $headers});
print $answer->{content}; exit !$answer->{success}' \"$1\"",
    ),
    client(
        "Debian's wget",
        "wget",
        Recipe(
            "a line in `/etc/wgetrc`",
            "echo 'ca_certificate = /etc/msb/ca.pem' >> /etc/wgetrc",
        ),
        "wget -qO - --tries=1 --header=\"Authorization: Bearer $KEY\" \"$1\"",
    ),
    client(
        "Java",
        "java",
        Recipe(
            "`keytool`, as below",
            "sed -n '/BEGIN/h;/BEGIN/!H;${x;p}' /etc/msb/ca.pem > /tmp/own.pem
keytool -importcert -noprompt -cacerts -storepass changeit -alias msb -file /tmp/own.pem",
        ),
        "rm -f /tmp/answer
ant -q -f /srv/get.xml -Durl=\"$1\" -Dkey=\"$KEY\" >&2 && cat /tmp/answer",
    ),
];
