//! Sends the requests of [`object_store`] by [`ureq`], which blocks.

use std::env;
use std::fs;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use ureq::http::{Method, Request, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, AsSendBody, BodyReader, Timeout};

use crate::error::{CUT_OFF, invalid};

/// The longest time for a connection.
const CONNECTING: Duration = Duration::from_secs(10);

/// The longest time without a byte from the server.
const SILENCE: Duration = Duration::from_secs(30);

/// The longest time for the metadata server of a cloud machine, which other machines lack.
const METADATA: Duration = Duration::from_secs(1);

const METADATA_SERVERS: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "metadata"];

const MOST_REDIRECTS: u32 = 10;

/// The connections that are kept open for the next request: more than the requests that are sent at once.
const CONNECTIONS: usize = 64;

const PART_BYTES: usize = 64 << 10;

/// The client of a store, for all its requests. Each request blocks the thread that polls it.
#[derive(Clone, Debug)]
pub(crate) struct Connector(Agent);

impl Connector {
    /// Makes a client. It follows redirects only if `is_http`, because other stores sign the address, and then never to
    /// a server without encryption if `is_encrypted`.
    ///
    /// # Errors
    /// If the certificates of `SSL_CERT_FILE` cannot be read.
    pub(crate) fn new(is_http: bool, is_encrypted: bool) -> io::Result<Connector> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .https_only(is_http && is_encrypted)
            .max_redirects(if is_http { MOST_REDIRECTS } else { 0 })
            .max_redirects_will_error(is_http)
            .accept_encoding("identity")
            .user_agent(concat!("trundle/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(root_certificates()?).build())
            .max_idle_connections(CONNECTIONS)
            .max_idle_connections_per_host(CONNECTIONS)
            .timeout_connect(Some(CONNECTING))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .build();
        Ok(Connector(config.new_agent()))
    }

    fn run(&self, request: Request<impl AsSendBody>) -> Result<HttpResponse, HttpError> {
        let is_metadata = is_metadata(request.uri());
        let request = match is_metadata {
            true => {
                let request = self.0.configure_request(request).timeout_connect(Some(METADATA));
                request.timeout_recv_response(Some(METADATA)).build()
            }
            false => request,
        };
        let answer = self.0.run(request).map_err(|error| failed(error, is_metadata))?;
        Ok(answer.map(|body| {
            let reader = Mutex::new(body.into_with_config().limit(u64::MAX).reader());
            HttpResponseBody::new(Incoming(reader))
        }))
    }
}

/// Returns the certificates in the file `SSL_CERT_FILE`, otherwise Mozilla's.
fn root_certificates() -> io::Result<RootCerts> {
    let Some(path) = env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let wrong =
        |error: &dyn std::fmt::Display| invalid(format!("cannot read SSL_CERT_FILE: {error}"));
    let text = fs::read(path).map_err(|error| wrong(&error))?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(&error))? {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(wrong(&"it contains no certificate")),
        false => Ok(RootCerts::Specific(Arc::new(found))),
    }
}

fn is_metadata(uri: &Uri) -> bool {
    uri.host().is_some_and(|host| METADATA_SERVERS.contains(&host))
}

/// Tells [`object_store`] whether to retry a request.
fn failed(error: ureq::Error, is_metadata: bool) -> HttpError {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof,
    };

    let kind = match &error {
        _ if is_metadata => HttpErrorKind::Unknown,
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve)
        | ureq::Error::ConnectionFailed => HttpErrorKind::Connect,
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        ureq::Error::Io(error) => match error.kind() {
            ConnectionRefused => HttpErrorKind::Connect,
            // The server closed the connection before it answered.
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
                HttpErrorKind::Request
            }
            _ => HttpErrorKind::Unknown,
        },
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let has_body = !body.is_empty() || matches!(parts.method, Method::PUT | Method::POST);
        match has_body {
            true => self.run(Request::from_parts(parts, &body[..])),
            false => self.run(Request::from_parts(parts, ())),
        }
    }
}

/// The body of an answer. The lock makes it `Sync`, and is always free.
struct Incoming(Mutex<BodyReader<'static>>);

impl Body for Incoming {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let reader = self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut part = vec![0; PART_BYTES];
        Poll::Ready(match reader.read(&mut part) {
            Ok(0) => None,
            Ok(read) => {
                part.truncate(read);
                Some(Ok(Frame::data(part.into())))
            }
            Err(error) => {
                let error = io::Error::new(error.kind(), format!("{CUT_OFF}: {error}"));
                Some(Err(HttpError::new(HttpErrorKind::Interrupted, error)))
            }
        })
    }
}
