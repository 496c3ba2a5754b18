"""Stores messages with Python's standard library. The key and its effect are written in one transaction."""
import base64, contextlib, hmac, json, os, sqlite3, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TABLES = """CREATE TABLE IF NOT EXISTS taken (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, peer TEXT, text TEXT, status TEXT, seq INTEGER)"""
# A change of the status names neither peer nor text. What is older only adds what is missing.
STORE = """INSERT INTO messages VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
peer = CASE WHEN seq < excluded.seq THEN coalesce(excluded.peer, peer) ELSE coalesce(peer, excluded.peer) END,
text = CASE WHEN seq < excluded.seq THEN coalesce(excluded.text, text) ELSE coalesce(text, excluded.text) END,
status = CASE WHEN seq < excluded.seq THEN excluded.status ELSE status END, seq = max(seq, excluded.seq)"""


def verify(secret, headers, body, now):
    """True if the request was signed with this secret, less than five minutes from now (in seconds)."""
    signed_at = headers.get("webhook-timestamp", "")
    if not signed_at.isdecimal() or abs(now - int(signed_at)) > 300:
        return False
    content = f"{headers.get('webhook-id', '')}.{signed_at}.".encode() + body
    digest = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), content, "sha256")
    # During a rotation, there is a signature for each of two secrets.
    signatures = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(b"v1," + base64.b64encode(digest), each) for each in signatures)


def take(database, key, change):
    """The effect of a change, once, however often it arrives. What is stored is never replaced by something older."""
    first = database.execute("INSERT OR IGNORE INTO taken VALUES (?)", (key,)).rowcount == 1
    if first and change["type"] in ("message.created", "message.updated", "message.status"):
        id, data, seq = change["messageId"], change["data"], change["seq"]
        database.execute(STORE, (id, data.get("peer"), data.get("text"), data["status"], seq))


ThreadingHTTPServer.request_queue_size = 128  # The default is 5: more connections at once would have to wait.


class Consumer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 15

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not verify(os.environ["CONSUMER_SECRET"], self.headers, body, time.time()):
            return self.send_error(401)
        request = json.loads(body)
        # An exception here closes the connection without an answer, and the change comes again.
        with contextlib.closing(sqlite3.connect(os.environ["CONSUMER_DATABASE"])) as database, database:
            for each in request.get("changes", [request]):
                take(database, each["key"], each["change"])
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    with contextlib.closing(sqlite3.connect(os.environ["CONSUMER_DATABASE"])) as database:
        database.executescript(TABLES)
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Consumer)
    print(f"receiving at http://127.0.0.1:{server.server_port}/changes", flush=True)
    server.serve_forever()
