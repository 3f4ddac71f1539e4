use super::{check_absolute, check_count, check_value, refused};
use crate::limits::{ARGS_MAX, ARGUMENT_MAX_BYTES, ENV_MAX, GROUPS_MAX};
use crate::{CAPABILITIES, Capabilities, PlanError, Process, RLIMITS};

/// The largest user or group: -1 means "unchanged" in system calls.
const ID_MAX: u32 = u32::MAX - 1;
/// The largest file mode creation mask.
const UMASK_MAX: u32 = 0o777;
/// The range of `oom_score_adj`.
const OOM_SCORES: std::ops::RangeInclusive<i32> = -1000..=1000;
/// The most rows or columns of a terminal: `struct winsize` has 16 bits for each.
const TERMINAL_MAX: u32 = 65_535;

impl Process {
    /// Checks all values of a process.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        check_arguments(&self.args)?;
        check_environment(&self.env)?;
        check_absolute("process.cwd", &self.cwd)?;
        check_count(
            "process.additional_gids",
            self.additional_gids.len(),
            GROUPS_MAX,
        )?;
        check_id("process.uid", self.uid)?;
        check_id("process.gid", self.gid)?;
        self.additional_gids
            .iter()
            .try_for_each(|gid| check_id("process.additional_gids", *gid))?;
        if let Some(umask) = self.umask.filter(|umask| *umask > UMASK_MAX) {
            return Err(refused(
                "process.umask",
                format_args!("{umask:#o}"),
                "0 to 0o777",
            ));
        }
        if let Some(size) = self.terminal
            && size.columns.max(size.rows) > TERMINAL_MAX
        {
            let size = format_args!("{}x{}", size.columns, size.rows);
            return Err(refused(
                "process.terminal",
                size,
                "at most 65,535 rows and columns",
            ));
        }
        self.check_rlimits()?;
        self.capabilities.check()?;
        match self.oom_score_adj {
            Some(score) if !OOM_SCORES.contains(&score) => {
                Err(refused("process.oom_score_adj", score, "-1000 to 1000"))
            }
            _ => Ok(()),
        }
    }

    fn check_rlimits(&self) -> Result<(), PlanError> {
        check_count("process.rlimits", self.rlimits.len(), RLIMITS.len())?;
        for (index, limit) in self.rlimits.iter().enumerate() {
            let is_new = |resource: &str| {
                let mut before = self.rlimits.iter().take(index);
                before.all(|other| other.resource != resource)
            };
            let accepted = "a resource of setrlimit(2) such as \"nofile\", once";
            check_value("process.rlimits", &limit.resource, accepted, |resource| {
                RLIMITS.contains(&resource) && is_new(resource)
            })?;
            if limit.soft > limit.hard {
                let accepted = "a soft limit that is not above the hard one";
                return Err(refused("process.rlimits.soft", limit.soft, accepted));
            }
        }
        Ok(())
    }
}

impl Capabilities {
    fn check(self) -> Result<(), PlanError> {
        let known = (1 << CAPABILITIES.len()) - 1;
        let sets = [
            ("process.capabilities.bounding", self.bounding),
            ("process.capabilities.effective", self.effective),
            ("process.capabilities.permitted", self.permitted),
            ("process.capabilities.inheritable", self.inheritable),
            ("process.capabilities.ambient", self.ambient),
        ];
        for (field, set) in sets {
            if set & !known != 0 {
                return Err(refused(
                    field,
                    format_args!("{set:#x}"),
                    "known capabilities",
                ));
            }
        }
        if self.effective & !self.permitted != 0 {
            let set = format_args!("{:#x}", self.effective);
            let accepted = "a part of the permitted set";
            return Err(refused("process.capabilities.effective", set, accepted));
        }
        if self.ambient & !(self.permitted & self.inheritable) != 0 {
            let set = format_args!("{:#x}", self.ambient);
            let accepted = "a part of the permitted and of the inheritable set";
            return Err(refused("process.capabilities.ambient", set, accepted));
        }
        Ok(())
    }
}

fn check_arguments(args: &[String]) -> Result<(), PlanError> {
    let field = "process.args";
    check_count(field, args.len(), ARGS_MAX)?;
    let program = args.first().map_or("", String::as_str);
    check_value(field, program, "a program", |program| !program.is_empty())?;
    let accepted = "at most 131,071 bytes without NUL";
    args.iter()
        .try_for_each(|text| check_value(field, text, accepted, is_argument))
}

/// Checks the environment. An error names the variable and not its value, which may be a secret.
fn check_environment(env: &[String]) -> Result<(), PlanError> {
    let field = "process.env";
    check_count(field, env.len(), ENV_MAX)?;
    let accepted = "NAME=value of at most 131,071 bytes without NUL";
    for variable in env {
        let name = variable.split_once('=').map_or("", |(name, _)| name);
        let is_accepted = !name.is_empty() && is_argument(variable);
        check_value(field, name, accepted, |_| is_accepted)?;
    }
    Ok(())
}

fn check_id(field: &'static str, id: u32) -> Result<(), PlanError> {
    if id <= ID_MAX {
        Ok(())
    } else {
        Err(refused(field, id, "at most 4,294,967,294"))
    }
}

fn is_argument(text: &str) -> bool {
    text.len() <= ARGUMENT_MAX_BYTES && !text.contains('\0')
}
