#!/usr/bin/env python3
"""Something that an HTTP job asks: says what it was asked, and answers 200, or 500 if the path is /broken.

    python3 target.py [PORT]"""
import http.server
import sys


class Target(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        print(self.command, self.path, self.headers["shardingContext"], body, flush=True)
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()
        self.wfile.write(b"the target is broken\n" if self.path == "/broken" else b"done\n")

    do_GET = do_POST

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8090), Target).serve_forever()
