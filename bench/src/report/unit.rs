use serde::Serialize;

/// The unit of a table's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Times; less is better.
    Seconds,
    /// Sizes; less is better.
    Bytes,
}

impl Unit {
    /// Formats a value with three significant digits and the fitting unit.
    pub(crate) fn shown(self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        match self {
            Self::Seconds => scaled(
                value,
                &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
            ),
            Self::Bytes => scaled(
                value,
                &[
                    (1_073_741_824.0, "GiB"),
                    (1_048_576.0, "MiB"),
                    (1024.0, "KiB"),
                    (1.0, "B"),
                ],
            ),
        }
    }
}

/// Formats a value in the first unit that is not larger than it, or otherwise in the last.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fitting = units.iter().find(|(size, _)| value.abs() >= *size);
    let Some((size, name)) = fitting.or_else(|| units.last()) else {
        return value.to_string();
    };
    let number = value / size;
    let digits = if value.fract() == 0.0 && *size == 1.0 || number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {name}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn values_are_shown_in_the_unit_that_fits() {
        assert_eq!(Unit::Seconds.shown(0.001_234), "1.23 ms");
        assert_eq!(Unit::Seconds.shown(12.34), "12.3 s");
        assert_eq!(Unit::Seconds.shown(0.0), "0");
        assert_eq!(Unit::Bytes.shown(1_572_864.0), "1.50 MiB");
        assert_eq!(Unit::Bytes.shown(12.0), "12 B");
    }
}
