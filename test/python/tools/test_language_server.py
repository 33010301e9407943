"""What an editor gets of loom-lsp-server: names of ops and words of their form to complete, and an answer whatever is typed."""

import json
import subprocess

import pytest
from paths import BUILD
from processes import PATIENCE

SERVER = BUILD / "bin" / "loom-lsp-server"
URI = "test:///a.mlir"
NOTHING = "no answer"
pytestmark = pytest.mark.skipif(not SERVER.exists(), reason="needs loom-lsp-server")


def answers(text, method="textDocument/completion", line=0, character=0):
    """The answer to one request about a text; NOTHING where there is none."""
    messages = [
        {"id": 0, "method": "initialize", "params": {"processId": 1, "rootUri": None, "capabilities": {}}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": URI, "languageId": "mlir", "version": 1, "text": text}}},
        {"id": 1, "method": method, "params": {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}},
        {"id": 2, "method": "shutdown"}, {"method": "exit"}]
    data = b""
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data += b"Content-Length: %d\r\n\r\n" % len(body) + body
    done = subprocess.run([SERVER], input=data, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-1000:]
    given = [json.loads(part) for part in done.stdout.decode().split("Content-Length: ")[1:] for part in [part.partition("\r\n\r\n")[2]]]
    return next((row["result"] for row in given if row.get("id") == 1), NOTHING)


def labels(text, line, character):
    return {item["label"] for item in answers(text, line=line, character=character)["items"]}


def test_names_of_ops_are_completed():
    text = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = loom.\n  return %0 : tensor<4xf32>\n}\n"
    assert {"tanh", "reduce", "for", "dot_general"} <= labels(text, 1, 12)


def test_words_of_an_op_are_completed():
    text = 'func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = loom.reduce "sum" %a \n  return %0 : tensor<4xf32>\n}\n'
    assert "axes" in labels(text, 1, 28)


@pytest.mark.parametrize("text", ["func.func private @f(" + "tuple<" * 20000 + "i1" + ">" * 20000 + ")\n", "module {" * 5000 + "}" * 5000])
def test_deep_nesting_is_survived(text):
    assert answers(text, "textDocument/hover") != NOTHING
