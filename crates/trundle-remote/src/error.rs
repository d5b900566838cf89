//! Turns errors of requests into errors with short messages.

use std::io;

use object_store::Error;

/// The text of the error if the body of an answer ended early.
pub(crate) const CUT_OFF: &str = "the answer was cut off";

/// The text of the error if an object has no byte of the requested range.
const NOT_WITHIN: &str = "416 Range Not Satisfiable";

/// The text of the error if a server does not continue an interrupted answer.
const NO_RANGES: &str = "Range request not supported";

/// The text of the error if a server refuses a method, which [`object_store`] takes for a missing object.
const NOT_ALLOWED: &str = "405 Method Not Allowed";

/// The text of the error if an answer does not state the size of the object.
const NO_LENGTH: &str = "Content-Length Header missing";

/// Parts of the texts of errors that do not help users.
const NOISE: [&str; 8] = [
    "Generic HTTP error: ",
    "Generic S3 error: ",
    "Generic GCS error: ",
    "Generic MicrosoftAzure error: ",
    "Error performing ",
    "HTTP error: ",
    "Server returned non-2xx status code: ",
    ", max_retries: 10, retry_timeout: 120s ",
];

/// The most characters of the text of an error.
const MOST_CHARACTERS: usize = 400;

#[allow(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
pub(crate) fn invalid(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
}

/// Returns `None` if the object does not exist.
pub(crate) fn found<T>(answer: Result<T, Error>) -> io::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { source, .. }) if !source.to_string().contains(NOT_ALLOWED) => {
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
pub(crate) fn failed(error: Error) -> io::Error {
    let text = error.to_string();
    let kind = match &error {
        Error::AlreadyExists { .. } | Error::Precondition { .. } => io::ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        Error::NotFound { .. } if !text.contains(NOT_ALLOWED) => io::ErrorKind::NotFound,
        Error::NotSupported { .. } | Error::NotImplemented { .. } => io::ErrorKind::Unsupported,
        _ if text.contains(NO_RANGES) => io::ErrorKind::Unsupported,
        _ if text.contains(CUT_OFF) => io::ErrorKind::ConnectionAborted,
        _ if text.contains(NOT_WITHIN) => io::ErrorKind::InvalidData,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, shortened(&text))
}

/// Shortens the text of an error: of an XML document, only the code and the message are kept, and of a page in HTML
/// nothing. Queries of URLs, which may contain a signature, are left out.
fn shortened(text: &str) -> String {
    // The metadata server of a cloud machine, which the client asks last for credentials.
    if ["http://169.254.169.254/", "http://169.254.170.", "http://metadata"]
        .iter()
        .any(|server| text.contains(server))
    {
        return no_credentials(text);
    }
    let text = match text.split_once("<?xml") {
        Some((before, document)) => {
            let within = |name: &str| {
                let (_, from) = document.split_once(&format!("<{name}>"))?;
                Some(from.split_once("</")?.0)
            };
            match (within("Code"), within("Message")) {
                (Some(code), Some(message)) => format!("{before}{code}: {message}"),
                _ => text.to_owned(),
            }
        }
        None => text.split(": <").next().unwrap_or_default().to_owned(),
    };
    if text.contains(NO_LENGTH) {
        return "the server does not state the size".to_owned();
    }
    let text = NOISE.iter().fold(text, |text, noise| text.replace(noise, ""));
    let word = |word: &str| match word.contains("://") {
        true => word.split('?').next().unwrap_or_default().to_owned(),
        false => word.to_owned(),
    };
    let words: Vec<String> = text.split_whitespace().map(word).collect();
    words.join(" ").chars().take(MOST_CHARACTERS).collect()
}

fn no_credentials(text: &str) -> String {
    if text.contains("GCS") {
        "no credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and gcloud's files and this machine have none (GOOGLE_SKIP_SIGNATURE=true reads a public bucket)"
    } else if text.contains("Azure") {
        "no credentials: AZURE_STORAGE_ACCOUNT_KEY and AZURE_STORAGE_SAS_KEY are not set, and this machine has none (AZURE_SKIP_SIGNATURE=true reads a public container)"
    } else {
        "no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and the AWS command line's files and this machine have none (AWS_SKIP_SIGNATURE=true reads a public bucket)"
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_extracted_from_error_documents() {
        let document = "404 Not Found: <?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>It does not exist</Message></Error>";
        assert_eq!(shortened(document), "404 Not Found: NoSuchBucket: It does not exist");
        assert_eq!(shortened("<?xml but not whole"), "<?xml but not whole");
        let page = "Generic HTTP error: Error performing GET http://h/x?sig=secret in\n 1s, after 2 retries, max_retries: 10, retry_timeout: 120s  - Server returned non-2xx status code: 403 Forbidden: <html>\n<body>";
        assert_eq!(shortened(page), "GET http://h/x in 1s, after 2 retries - 403 Forbidden");
        let metadata =
            |store: &str| shortened(&format!("{store}: GET http://169.254.169.254/latest in 1 s"));
        assert!(metadata("Generic S3 error").contains("AWS_ACCESS_KEY_ID"));
        assert!(metadata("Generic GCS error").contains("GOOGLE_APPLICATION_CREDENTIALS"));
        assert!(metadata("Generic MicrosoftAzure error").contains("AZURE_STORAGE_ACCOUNT_KEY"));
    }
}
