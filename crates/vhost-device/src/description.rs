/// The facts that a VMM and its guest are told about a device.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// The number of queues.
    pub queues: usize,
    /// The bits of the features that the kind of the device defines. Those of its queues are added.
    pub features: u64,
    /// The configuration space. Zeros follow it, as many as a VMM asks for.
    pub config: Vec<u8>,
}

impl Description {
    /// Returns a part of the configuration space.
    pub(crate) fn config_part(&self, offset_bytes: u32, length_bytes: u32) -> Vec<u8> {
        let offset = usize::try_from(offset_bytes).unwrap_or(usize::MAX);
        let length = usize::try_from(length_bytes).unwrap_or_default();
        let known = self.config.get(offset..).unwrap_or_default();
        let mut part = known.get(..length).unwrap_or(known).to_vec();
        part.resize(length, 0);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_follow_the_configuration_space() {
        let description = Description {
            config: vec![1, 2, 3, 4],
            ..Description::default()
        };
        assert_eq!(description.config_part(0, 2), [1, 2]);
        assert_eq!(description.config_part(2, 4), [3, 4, 0, 0]);
        assert_eq!(description.config_part(200, 3), [0, 0, 0]);
        assert_eq!(description.config_part(0, 0), [0; 0]);
    }
}
