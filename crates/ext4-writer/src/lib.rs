//! zerocopy
