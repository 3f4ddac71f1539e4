/// Serialises a type in descriptions as text, by its `Display` and `FromStr`.
macro_rules! described_as_text {
    ($kind:ty) => {
        impl TryFrom<String> for $kind {
            type Error = <$kind as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> Self {
                value.to_string()
            }
        }
    };
}

pub(crate) use described_as_text;
