//! Clients of stores, and their settings from the environment.

use std::env;
use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use tokio::runtime::{Builder, Handle};

use crate::connector::Connector;
use crate::error::invalid;
use crate::profile::Profile;

const MOST_RETRIES: usize = 10;
/// The delay before the first retry. The delays grow up to `LONGEST_WAIT`.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// The longest time from the first attempt to the last.
const LONGEST: Duration = Duration::from_mins(2);

/// The text of the error if a URL and the environment do not name the account.
const NO_ACCOUNT: &str = "Account must be specified";

const WHICH_ACCOUNT: &str = "the account is missing: set AZURE_STORAGE_ACCOUNT_NAME, or name it as in abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH";

#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The process id. A forked child must not use the connections of its parent.
    process: u32,
    pub(crate) requests: Arc<dyn ObjectStore>,
}

impl Client {
    /// Makes a client for the store with this root, such as `s3://BUCKET`.
    ///
    /// # Errors
    /// If the settings in the environment are invalid.
    pub(crate) fn new(root: &str) -> io::Result<Client> {
        let backoff =
            BackoffConfig { init_backoff: FIRST_WAIT, max_backoff: LONGEST_WAIT, base: 2.0 };
        let retry = RetryConfig { backoff, max_retries: MOST_RETRIES, retry_timeout: LONGEST };
        let scheme = root.split("://").next().unwrap_or_default();
        let connector = Connector::new(scheme.starts_with("http"))?;
        let is_plain = |url: Option<String>| url.is_some_and(|url| url.starts_with("http://"));
        let requests: Arc<dyn ObjectStore> = match scheme {
            "s3" => {
                let builder = with_profile(AmazonS3Builder::from_env().with_url(root))?;
                let mut builder = builder.with_retry(retry).with_http_connector(connector);
                let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
                if keys.iter().any(|key| is_plain(builder.get_config_value(key))) {
                    builder = builder.with_allow_http(true);
                }
                Arc::new(builder.build().map_err(invalid)?)
            }
            "gs" => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(root);
                let builder = builder.with_retry(retry).with_http_connector(connector);
                Arc::new(builder.build().map_err(invalid)?)
            }
            "az" | "abfs" | "abfss" => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(root);
                let mut builder = builder.with_retry(retry).with_http_connector(connector);
                if is_plain(builder.get_config_value(&AzureConfigKey::Endpoint)) {
                    builder = builder.with_allow_http(true);
                }
                Arc::new(builder.build().map_err(|error| match error.to_string() {
                    text if text.contains(NO_ACCOUNT) => invalid(WHICH_ACCOUNT),
                    text => invalid(text),
                })?)
            }
            _ => {
                let builder = HttpBuilder::new().with_url(root);
                let options = ClientOptions::new().with_allow_http(scheme == "http");
                let builder = builder.with_client_options(options);
                let builder = builder.with_retry(retry).with_http_connector(connector);
                Arc::new(builder.build().map_err(invalid)?)
            }
        };
        Ok(Client { process: std::process::id(), requests })
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.process == std::process::id()
    }
}

/// Runs a request on this thread. The runtime is only for the delays between retries.
///
/// # Errors
/// The error of the request.
pub(crate) fn wait<T: Send>(request: impl Future<Output = io::Result<T>> + Send) -> io::Result<T> {
    let run = || Builder::new_current_thread().enable_time().build()?.block_on(request);
    match Handle::try_current() {
        Err(_) => run(),
        // A thread of an asynchronous caller must not enter a second runtime.
        Ok(_) => thread::scope(|scope| {
            scope.spawn(run).join().unwrap_or_else(|panic| resume_unwind(panic))
        }),
    }
}

/// Adds the settings of the AWS command line's files that the environment does not have.
fn with_profile(mut builder: AmazonS3Builder) -> io::Result<AmazonS3Builder> {
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
        return Err(invalid(why));
    }
    if !is_set(&builder, AmazonS3ConfigKey::Region)
        && !is_set(&builder, AmazonS3ConfigKey::DefaultRegion)
        && let Some(region) = profile.region
    {
        builder = builder.with_region(region);
    }
    if !is_set(&builder, AmazonS3ConfigKey::Endpoint)
        && !is_set(&builder, AmazonS3ConfigKey::S3Endpoint)
        && let Some(endpoint) = profile.endpoint
    {
        builder = builder.with_endpoint(endpoint);
    }
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asynchronous_caller_can_wait() {
        let caller = Builder::new_current_thread().build().unwrap();
        assert_eq!(caller.block_on(async { wait(async { Ok(1) }).unwrap() }), 1);
    }
}
