"""Sends the requests that standard input describes as JSON, and prints what became of each, a line of JSON each."""

import base64
import http.client
import json
import os
import ssl
import sys
import urllib.request

FILE = "/srv/keys/filed"


def asked(question):
    host, port = question["host"], question["port"]
    headers = {name: os.path.expandvars(text) for name, text in question.get("headers", {}).items()}
    if "basic" in question:
        credential = os.path.expandvars(question["basic"]).encode()
        headers["Authorization"] = "Basic " + base64.b64encode(credential).decode()
    path = os.path.expandvars(question["path"])
    context = ssl.create_default_context()
    if question.get("trusts_nothing"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if question.get("follows"):
            request = urllib.request.Request(f"https://{host}:{port}{path}", headers=headers)
            answer = urllib.request.urlopen(request, timeout=60, context=context)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=60, context=context)
            connection.request(question.get("method", "GET"), path, headers=headers)
            answer = connection.getresponse()
        head = dict(answer.getheaders())
        return {"status": answer.status, "head": head, "body": answer.read().decode()}
    except (OSError, http.client.HTTPException) as error:
        partial = getattr(error, "partial", b"").decode(errors="replace")
        return {"error": f"{type(error).__name__}: {error}", "body": partial}


if os.path.exists(FILE):
    with open(FILE) as file:
        os.environ["FILED"] = file.read()
for question in json.load(sys.stdin):
    print(json.dumps(asked(question)))
