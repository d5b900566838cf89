/// Declares an error type from its variants, each with fields and a message. A field that the message does not use is
/// named after `unused`.
macro_rules! refusals {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(
                $(#[$reason_doc:meta])*
                $reason:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })?
                $(unused $unused:ident)?
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

        impl core::error::Error for $name {}

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($name::$reason $({ $($field),* })? => {
                        $(let _ = $unused;)?
                        write!(f, $message $(, $argument)*)
                    })*
                }
            }
        }
    };
}
