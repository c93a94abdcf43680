//! `[pool.NAME]`: members behind a balancer, how they are looked at, and who is told.

mod keys;
mod member;
mod outward;
pub mod plan;
mod read;

pub(super) use self::read::{read_all, silence};

pub(super) use self::keys::TABLES;
pub use self::plan::{FallbackPlan, HaproxyPlan, Instead, MemberPlan, NftPlan, PoolPlan};
