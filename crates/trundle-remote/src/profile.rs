//! Reads the credentials and the configuration of the AWS command line from its files.

use std::collections::HashMap;
use std::env;
use std::path::PathBuf;

use configparser::ini::Ini;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) key_id: Option<String>,
    pub(crate) secret: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
}

type Sections = HashMap<String, HashMap<String, Option<String>>>;

impl Profile {
    /// Reads the profile `AWS_PROFILE`, or `default`, from the files of the AWS command line. Ignores files that cannot
    /// be read.
    ///
    /// Source: "Configuration and credential file settings" in the user guide of the AWS command line.
    pub(crate) fn of_environment() -> Profile {
        let of = |variable: &str, name: &str| -> Sections {
            let home = || {
                let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"))?;
                Some(PathBuf::from(home).join(".aws").join(name))
            };
            let path = env::var_os(variable).map(PathBuf::from).or_else(home);
            path.and_then(|path| Ini::new_cs().load(path).ok()).unwrap_or_default()
        };
        let name = env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
        let credentials = of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        Profile::of(&name, &credentials, &of("AWS_CONFIG_FILE", "config"))
    }

    fn of(name: &str, credentials: &Sections, config: &Sections) -> Profile {
        // In the configuration file, all sections except `default` are called `profile NAME`.
        let section = format!("profile {name}");
        let sections = [credentials.get(name), config.get(&section), config.get(name)];
        let get = |key: &str| {
            let found = sections.iter().flatten().find_map(|section| section.get(key)?.clone());
            found.filter(|value| !value.is_empty())
        };
        Profile {
            key_id: get("aws_access_key_id"),
            secret: get("aws_secret_access_key"),
            token: get("aws_session_token"),
            region: get("region"),
            endpoint: get("endpoint_url"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_from_both_files() {
        let read = |text: &str| Ini::new_cs().read(text.to_owned()).unwrap();
        let credentials = read(
            "[default]\naws_access_key_id = A\naws_secret_access_key = s/+=\n[lab]\naws_access_key_id=B\naws_secret_access_key=t\naws_session_token=u\n",
        );
        let config = read(
            "[default]\nregion = eu-west-1\n[profile lab]\nregion = us-west-2\nendpoint_url = http://localhost:9000\n",
        );
        let some = |text: &str| Some(text.to_owned());
        let default = Profile::of("default", &credentials, &config);
        assert_eq!((default.key_id, default.secret), (some("A"), some("s/+=")));
        assert_eq!((default.token, default.region), (None, some("eu-west-1")));
        let lab = Profile::of("lab", &credentials, &config);
        assert_eq!((lab.token, lab.region), (some("u"), some("us-west-2")));
        assert_eq!(lab.endpoint, some("http://localhost:9000"));
        assert_eq!(Profile::of("none", &credentials, &config), Profile::default());
    }
}
