//! The bytes of a plan and of its parts, checked on both sides.

use prost::Message;

use crate::limits::PLAN_MAX_BYTES;
use crate::{Cgroup, ContainerPlan, PlanError, Process};

impl ContainerPlan {
    /// Returns the plan as bytes.
    ///
    /// # Errors
    /// If the plan has a value that a guest does not accept, or is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PlanError> {
        self.check()?;
        encode(self)
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// If the bytes are too long or not a plan, or if it has a value that is not accepted.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PlanError> {
        let plan: Self = decode(bytes)?;
        plan.check()?;
        Ok(plan)
    }
}

impl Process {
    /// Returns a further process of a container as bytes.
    ///
    /// # Errors
    /// If the process has a value that a guest does not accept, or is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PlanError> {
        self.check()?;
        encode(self)
    }

    /// Reads a further process of a container.
    ///
    /// # Errors
    /// If the bytes are too long or not a process, or if it has a value that is not accepted.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PlanError> {
        let process: Self = decode(bytes)?;
        process.check()?;
        Ok(process)
    }
}

impl Cgroup {
    /// Returns new values of a control group as bytes.
    ///
    /// # Errors
    /// If it has a value that a guest does not accept, or is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PlanError> {
        self.check()?;
        encode(self)
    }

    /// Reads new values of a control group.
    ///
    /// # Errors
    /// If the bytes are too long or not a control group, or if it has a value that is not accepted.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PlanError> {
        let cgroup: Self = decode(bytes)?;
        cgroup.check()?;
        Ok(cgroup)
    }
}

fn encode(message: &impl Message) -> Result<Vec<u8>, PlanError> {
    check_length(message.encoded_len())?;
    Ok(message.encode_to_vec())
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, PlanError> {
    check_length(bytes.len())?;
    Ok(M::decode(bytes)?)
}

fn check_length(bytes: usize) -> Result<(), PlanError> {
    if bytes <= PLAN_MAX_BYTES {
        Ok(())
    } else {
        Err(PlanError::TooLong { bytes })
    }
}
