"""The server of with_http.py and with_buckets.py."""

import sys
from http.server import ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """A server that does not report clients that hang up, for example killed clients."""

    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
