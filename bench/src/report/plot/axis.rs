/// Where values stand along a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// What stands at each end; on a logarithmic axis, their logarithms.
    values: (f64, f64),
    /// Where the ends are.
    places: (f64, f64),
    logarithmic: bool,
}

impl Axis {
    /// From nothing to the most.
    pub(super) fn linear(most: f64, places: (f64, f64)) -> Self {
        Self {
            values: (0.0, if most > 0.0 { most } else { 1.0 }),
            places,
            logarithmic: false,
        }
    }

    /// From below the least to above the most, to the next power of ten or half of one.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>, places: (f64, f64)) -> Self {
        let logarithms = values.filter(|&value| value > 0.0).map(f64::log10);
        let (least, most) = logarithms.fold((f64::MAX, f64::MIN), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let (least, most) = if least > most {
            (0.0, 1.0)
        } else {
            (least, most)
        };
        let begin = (least * 2.0).floor() / 2.0;
        let end = (most * 2.0).ceil() / 2.0;
        Self {
            values: (begin, if end > begin { end } else { begin + 0.5 }),
            places,
            logarithmic: true,
        }
    }

    pub(super) fn place(self, value: f64) -> f64 {
        let value = if self.logarithmic {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        let share = (value - self.values.0) / (self.values.1 - self.values.0);
        self.places.0 + share.clamp(0.0, 1.0) * (self.places.1 - self.places.0)
    }

    /// Values worth a mark: 1, 2 and 5 times powers of ten.
    pub(super) fn marks(self) -> Vec<f64> {
        if self.logarithmic {
            self.logarithmic_marks()
        } else {
            self.linear_marks()
        }
    }

    /// Powers of two, at most eight of them: for bytes.
    pub(super) fn binary_marks(self) -> Vec<f64> {
        let ends = [self.values.0, self.values.1].map(|end| end * std::f64::consts::LOG2_10);
        let (first, last) = (ends[0].ceil() as i32, ends[1].floor() as i32);
        let step = (last - first) / 8 + 1;
        let powers = (first..=last).filter(|power| power % step == 0);
        powers.map(|power| 2_f64.powi(power)).collect()
    }

    fn linear_marks(self) -> Vec<f64> {
        let rough = self.values.1 / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        (0..=5)
            .map(|number| f64::from(number) * step)
            .filter(|&mark| mark <= self.values.1 * 1.001)
            .collect()
    }

    fn logarithmic_marks(self) -> Vec<f64> {
        let decades = self.values.1 - self.values.0;
        let factors: &[f64] = if decades > 3.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let (first, last) = (self.values.0.floor() as i32, self.values.1.ceil() as i32);
        let marks = (first..=last).flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        });
        marks
            .filter(|mark| {
                let logarithm = mark.log10();
                logarithm >= self.values.0 - 1e-9 && logarithm <= self.values.1 + 1e-9
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn values_stand_between_the_ends() {
        let linear = Axis::linear(10.0, (100.0, 200.0));
        assert!((linear.place(5.0) - 150.0).abs() < 1e-9);
        assert_eq!(linear.marks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let logarithmic = Axis::logarithmic([1.0, 100.0].into_iter(), (0.0, 100.0));
        assert!((logarithmic.place(10.0) - 50.0).abs() < 1e-9);
        assert_eq!(
            logarithmic.marks(),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        );
    }

    #[test]
    fn marks_of_bytes_are_powers_of_two() {
        let axis = Axis::logarithmic([5e6, 3e7].into_iter(), (0.0, 100.0));
        let mib = |mark: f64| mark * 1_048_576.0;
        assert_eq!(axis.binary_marks(), [4.0, 8.0, 16.0].map(mib));
        let wide = Axis::logarithmic([1.0, 1e12].into_iter(), (0.0, 100.0));
        assert!(wide.binary_marks().len() <= 9);
    }

    #[test]
    fn nothing_to_draw_is_drawn_all_the_same() {
        assert!(Axis::linear(0.0, (0.0, 1.0)).place(0.0).is_finite());
        assert!(
            Axis::logarithmic(std::iter::empty(), (0.0, 1.0))
                .place(0.0)
                .is_finite()
        );
    }
}
