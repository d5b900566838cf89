//! An S3 client with blocking requests.

use std::env;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use crate::profile::Profile;

const MOST_RETRIES: usize = 10;
/// The delay before the first retry. The delays grow up to `LONGEST_WAIT`.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// The longest time from the first attempt to the last.
const LONGEST: Duration = Duration::from_mins(2);

#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The process id. A forked child has none of the client's threads.
    process: u32,
    runtime: Arc<Runtime>,
    pub(crate) requests: Arc<AmazonS3>,
}

/// The runtime with the one thread that waits for the network, and the id of its process.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

impl Client {
    /// # Errors
    /// If the settings in the environment are invalid.
    pub(crate) fn new(bucket: &str) -> io::Result<Client> {
        // The runtime also installs the TLS provider, which must exist before `build`.
        let runtime = runtime()?;
        let requests = Arc::new(builder(bucket)?.build().map_err(invalid)?);
        Ok(Client { process: std::process::id(), runtime, requests })
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.process == std::process::id()
    }

    pub(crate) fn wait<T>(&self, request: impl Future<Output = T>) -> T {
        self.runtime.block_on(request)
    }
}

fn runtime() -> io::Result<Arc<Runtime>> {
    let process = std::process::id();
    let mut current = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, runtime)) = &*current
        && *of == process
    {
        return Ok(Arc::clone(runtime));
    }
    // This fails if a provider is already installed, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("trundle-s3")
        .enable_all()
        .build()?;
    let runtime = Arc::new(runtime);
    // Dropping the runtime of the parent process would wait for threads that do not exist here.
    std::mem::forget(current.replace((process, Arc::clone(&runtime))));
    Ok(runtime)
}

/// Makes the settings for a bucket from the environment, otherwise from the files of the AWS command line.
fn builder(bucket: &str) -> io::Result<AmazonS3Builder> {
    let backoff = BackoffConfig { init_backoff: FIRST_WAIT, max_backoff: LONGEST_WAIT, base: 2.0 };
    let retry = RetryConfig { backoff, max_retries: MOST_RETRIES, retry_timeout: LONGEST };
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
    let is_set = |builder: &AmazonS3Builder, key| builder.get_config_value(&key).is_some();
    let profile = Profile::of_environment();
    // The access key, secret and token of a profile belong together. The environment's key takes precedence.
    if !is_set(&builder, AmazonS3ConfigKey::AccessKeyId)
        && let (Some(key_id), Some(secret)) = (profile.key_id, profile.secret)
    {
        builder = builder.with_access_key_id(key_id).with_secret_access_key(secret);
        if let Some(token) = profile.token {
            builder = builder.with_token(token);
        }
    } else if env::var_os("AWS_PROFILE").is_some()
        && !is_set(&builder, AmazonS3ConfigKey::AccessKeyId)
    {
        let name = env::var("AWS_PROFILE").unwrap_or_default();
        let why = format!(
            "AWS_PROFILE is {name:?}, which has no access key in the files of the AWS command line"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    if !is_set(&builder, AmazonS3ConfigKey::Region)
        && !is_set(&builder, AmazonS3ConfigKey::DefaultRegion)
        && let Some(region) = profile.region
    {
        builder = builder.with_region(region);
    }
    let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    let endpoint = endpoint.iter().find_map(|name| env::var(name).ok()).or(profile.endpoint);
    if let Some(endpoint) = endpoint {
        // An http:// endpoint means that no encryption is wanted.
        let is_plain = endpoint.starts_with("http://");
        builder = builder.with_endpoint(endpoint);
        if is_plain {
            builder = builder.with_allow_http(true);
        }
    }
    Ok(builder)
}

#[allow(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
pub(crate) fn invalid(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
}
