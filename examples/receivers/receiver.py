"""A receiver with Python's standard library. It verifies the raw bytes and stores them, and only then answers."""
import base64, hashlib, hmac, os, re, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("SIGNING_SECRET", "").encode()
if not SECRET:
    sys.exit("set SIGNING_SECRET to the secret that PUT /webhook returned")
INBOX = open(os.environ.get("INBOX", "inbox.log"), "ab")
LOCK = threading.Lock()
WINDOW_MS = 5 * 60 * 1000
LARGEST = 1024 * 1024


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 15  # A sender that stops in the middle of a body does not hold a thread forever.

    def do_POST(self):
        if self.path != "/webhooks":
            return self.answer(404)
        # Exactly one value of each header. Hex is checked before it is compared.
        timestamps = self.headers.get_all("X-Service-Timestamp", [])
        signatures = self.headers.get_all("X-Service-Signature", [])
        if len(timestamps) != 1 or not re.fullmatch(r"[0-9]{13}", timestamps[0]):
            return self.answer(401)
        if len(signatures) != 1 or not re.fullmatch(r"sha256=[0-9a-fA-F]{64}", signatures[0]):
            return self.answer(401)
        if abs(time.time() * 1000 - int(timestamps[0])) > WINDOW_MS:
            return self.answer(401)
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not re.fullmatch(r"[0-9]{1,12}", length):
            return self.answer(411)
        if int(length) > LARGEST:
            return self.answer(413)
        body = self.rfile.read(int(length))
        expected = hmac.new(SECRET, timestamps[0].encode() + b"." + body, hashlib.sha256).hexdigest()
        if len(body) != int(length) or not hmac.compare_digest(expected, signatures[0][7:].lower()):
            return self.answer(401)
        # One line for each delivery. It is on disk before the answer, because an answered event is not sent again.
        # The line feed before it ends a line that a full disk or a crash has cut off.
        # Another process reads the lines: it ignores events it does not know, and messages and statuses it has.
        with LOCK:
            INBOX.write(b"\n" + timestamps[0].encode() + b" " + base64.b64encode(body) + b"\n")
            INBOX.flush()
            os.fsync(INBOX.fileno())
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if status != 200:  # The rest of the body was not read, so the connection cannot be used again.
            self.send_header("Connection", "close")
        self.end_headers()


ThreadingHTTPServer.request_queue_size = 128  # The default is 5: more connections at once would have to wait.
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print(f"receiving at http://127.0.0.1:{server.server_port}/webhooks", flush=True)
server.serve_forever()
