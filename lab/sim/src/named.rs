//! Enumerations whose variants have names, as users write them.

/// An enumeration, each variant with its name: `ALL` has all of them, `name` tells one's.
macro_rules! named {
    ($(#[$of_all:meta])* $type:ident { $($(#[$of_one:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$of_all])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$of_one])* $variant,)*
        }

        impl $type {
            /// All of them with their names.
            pub const ALL: &'static [(&'static str, $type)] = &[$(($name, $type::$variant)),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),*
                }
            }
        }
    };
}

pub(crate) use named;
