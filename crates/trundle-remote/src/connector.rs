//! Sends the requests of [`object_store`] by [`ureq`], which blocks.

use std::env;
use std::fs;
use std::io::{self, Read, Take};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use ureq::http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use ureq::http::response::Parts;
use ureq::http::{Method, Request, StatusCode, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, AsSendBody, BodyReader, Timeout};

use crate::error::{CUT_OFF, invalid};

/// The longest time for a connection.
const CONNECTING: Duration = Duration::from_secs(10);

/// The longest time without a byte from the server.
const SILENCE: Duration = Duration::from_secs(30);

/// The most bytes of an error document that are read, and the most of an answer that is not an object.
const MOST_ERROR_BYTES: u64 = 1 << 20;
const MOST_ANSWER_BYTES: u64 = 64 << 20;

/// The longest time for the metadata server of a cloud machine, which other machines lack.
const METADATA: Duration = Duration::from_secs(1);

const METADATA_SERVERS: [&str; 5] =
    ["169.254.169.254", "169.254.170.2", "169.254.170.23", "metadata.google.internal", "metadata"];

const MOST_REDIRECTS: u32 = 10;

/// The connections that are kept open for the next request: more than the requests that are sent at once.
const CONNECTIONS: usize = 64;

const PART_BYTES: usize = 64 << 10;

/// The client of a store, for all its requests. Each request blocks the thread that polls it.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    is_http: bool,
    certificates: RootCerts,
}

/// The connections of a client.
#[derive(Debug)]
struct Connections(Agent);

impl Connector {
    /// Makes a client. It follows redirects only if `is_http`, because other stores sign the address.
    ///
    /// # Errors
    /// If the certificates of `SSL_CERT_FILE` cannot be read.
    pub(crate) fn new(is_http: bool) -> io::Result<Connector> {
        Ok(Connector { is_http, certificates: root_certificates()? })
    }

    /// Makes connections, which are encrypted unless `allows_http`.
    fn connections(&self, allows_http: bool) -> Connections {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .https_only(!allows_http)
            .max_redirects(if self.is_http { MOST_REDIRECTS } else { 0 })
            .max_redirects_will_error(self.is_http)
            .accept_encoding("identity")
            .user_agent(concat!("trundle/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(self.certificates.clone()).build())
            .max_idle_connections(CONNECTIONS)
            .max_idle_connections_per_host(CONNECTIONS)
            .timeout_connect(Some(CONNECTING))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .build();
        Connections(config.new_agent())
    }
}

impl Connections {
    fn run(&self, request: Request<impl AsSendBody>) -> Result<HttpResponse, HttpError> {
        let is_metadata = is_metadata(request.uri());
        let is_object = !is_metadata && request.method() == Method::GET && !is_list(request.uri());
        let request = match is_metadata {
            true => {
                let request = self.0.configure_request(request).timeout_connect(Some(METADATA));
                // A proxy must not see the credentials.
                request.proxy(None).timeout_recv_response(Some(METADATA)).build()
            }
            false => request,
        };
        let answer = self.0.run(request).map_err(|error| failed(error, is_metadata))?;
        let (mut parts, body) = answer.into_parts();
        if let Some(length) = length_of_part(&parts) {
            parts.headers.insert(CONTENT_LENGTH, length.into());
        }
        let most = if is_object { u64::MAX } else { MOST_ANSWER_BYTES };
        let reader = body.into_with_config().limit(most).reader();
        let shown = if parts.status.is_success() { u64::MAX } else { MOST_ERROR_BYTES };
        let body = HttpResponseBody::new(Incoming(Mutex::new(reader.take(shown))));
        Ok(HttpResponse::from_parts(parts, body))
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

/// Returns whether a request lists objects, as S3, GCS and Azure spell it.
fn is_list(uri: &Uri) -> bool {
    let is_list = |pair: &str| pair.starts_with("list-type=") || pair == "comp=list";
    uri.query().unwrap_or_default().split('&').any(is_list)
}

/// Returns the length of a part of an object, if the answer states only its place: `Content-Range: bytes 0-9/20`.
fn length_of_part(answer: &Parts) -> Option<u64> {
    if answer.status != StatusCode::PARTIAL_CONTENT || answer.headers.contains_key(CONTENT_LENGTH) {
        return None;
    }
    let range = answer.headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (first, last) = range.split_once('/')?.0.split_once('-')?;
    last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
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
            // The name server does not answer at the moment: the texts of glibc and of musl.
            _ if ["Temporary failure in name", "Try again"]
                .iter()
                .any(|text| error.to_string().contains(text)) =>
            {
                HttpErrorKind::Connect
            }
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
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        Ok(HttpClient::new(self.connections(allows_http.is_some_and(|allows| allows == "true"))))
    }
}

#[async_trait]
impl HttpService for Connections {
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
struct Incoming(Mutex<Take<BodyReader<'static>>>);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_temporary_failure_of_a_name_server_is_retried() {
        let kind = |text: &str| failed(ureq::Error::Io(io::Error::other(text)), false).kind();
        let from = "failed to lookup address information: ";
        let temporary = kind(&format!("{from}Temporary failure in name resolution"));
        assert_eq!(temporary, HttpErrorKind::Connect);
        assert_eq!(kind(&format!("{from}Name or service not known")), HttpErrorKind::Unknown);
    }

    #[test]
    fn lists_and_metadata_are_distinguished_from_objects() {
        let is = |url: &str| is_list(&url.parse().unwrap());
        assert!(
            is("http://h/b?list-type=2&prefix=x") && is("http://h/b?restype=container&comp=list")
        );
        assert!(!is("http://h/b/x?versionId=1") && !is("http://h/x"));
        assert!(is_metadata(&"http://169.254.170.2/v2".parse().unwrap()));
    }
}
