"""A stand-in for a hub that answers GETs as a test wants it to, for what a real one says seldom."""
import http.server
import json
import threading
import urllib.parse


class Answers(http.server.ThreadingHTTPServer):
    """say(path, query) gives (status, object); asked has every (path, query). Ends with the test."""
    daemon_threads = True

    def __init__(self, case, say):
        self.say, self.asked = say, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        case.addCleanup(self.server_close)
        case.addCleanup(self.shutdown)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, rest = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(rest))
        self.server.asked.append((path, query))
        status, said = self.server.say(path, query)
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
