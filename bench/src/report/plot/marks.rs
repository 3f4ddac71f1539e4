use crate::report::Unit;

/// Returns the ends of a logarithmic axis for `values`: powers of ten, or the geometric means of
/// two. Values without a logarithm are ignored.
pub(super) fn logarithmic_ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let logarithms = values.filter(|&value| value > 0.0).map(f64::log10);
    let (least, most) = logarithms.fold((f64::MAX, f64::MIN), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    if least > most {
        return (1.0, 10.0);
    }
    let begin = (least * 2.0).floor() / 2.0;
    let end = ((most * 2.0).ceil() / 2.0).max(begin + 0.5);
    (10_f64.powf(begin), 10_f64.powf(end))
}

/// Returns the marks of a logarithmic axis between `ends`. For seconds they are 1, 2 and 5 times
/// powers of ten; for bytes they are at most nine powers of two.
pub(super) fn logarithmic_marks(unit: Unit, ends: (f64, f64)) -> Vec<f64> {
    match unit {
        Unit::Bytes => powers_of_two(ends),
        Unit::Seconds => decimal_marks(ends),
    }
}

/// Returns 1, 2 and 5 times powers of ten between the ends. Over more than three powers, only the
/// powers themselves.
pub(super) fn decimal_marks((begin, end): (f64, f64)) -> Vec<f64> {
    let (first, last) = (begin.log10(), end.log10());
    let factors: &[f64] = if last - first > 3.0 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let powers = first.floor() as i32..=last.ceil() as i32;
    powers
        .flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        })
        .filter(|&mark| mark >= begin * 0.999 && mark <= end * 1.001)
        .collect()
}

fn powers_of_two((begin, end): (f64, f64)) -> Vec<f64> {
    let (first, last) = (begin.log2().ceil() as i32, end.log2().floor() as i32);
    let step = (last - first) / 8 + 1;
    let powers = (first..=last).filter(|power| power % step == 0);
    powers.map(|power| 2_f64.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_half_powers_of_ten() {
        let (begin, end) = logarithmic_ends([1.0, 90.0].into_iter());
        assert!((begin - 1.0).abs() < 1e-9 && (end - 100.0).abs() < 1e-9);
        assert_eq!(decimal_marks((begin, end)).len(), 7);
    }

    #[test]
    fn bytes_are_marked_at_powers_of_two() {
        let mib = |mark: f64| mark * 1_048_576.0;
        let marks = logarithmic_marks(Unit::Bytes, (3.2e6, 3.2e7));
        assert_eq!(marks, [4.0, 8.0, 16.0].map(mib));
        assert!(logarithmic_marks(Unit::Bytes, (1.0, 1e12)).len() <= 9);
    }

    #[test]
    fn an_axis_without_values_has_ends() {
        let (begin, end) = logarithmic_ends(std::iter::empty());
        assert!(begin < end);
    }
}
