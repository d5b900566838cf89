//! A macro for error types.

/// Declares an error type from its variants, each with its fields and its message.
macro_rules! refusals {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(
                $(#[$reason_doc:meta])*
                $reason:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })?
                => $message:literal $(, $argument:expr)*;
            )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$reason_doc])* $reason $({ $($(#[$field_doc])* $field: $type,)* })?,)*
        }

        impl std::error::Error for $name {}

        impl std::fmt::Display for $name {
            #[allow(unused_variables, reason = "a message may leave out a field")]
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($name::$reason $({ $($field),* })? => write!(f, $message $(, $argument)*),)*
                }
            }
        }
    };
}
