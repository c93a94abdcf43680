//! The text of each event of pools.

/// Where agent checks and clients come to.
pub const LISTENING: &str = "listening";
/// What is served when nobody is left.
pub const PAGE: &str = "page";
/// A failed work unit.
pub const WORK_UNIT: &str = "its agent says that a work unit has failed";
/// A silent agent.
pub const SILENT: &str = "its agent says nothing";
/// Another service of the same server.
pub const ELSEWHERE: &str = "another service of this server has failed";
/// After a drain, or known from before.
pub const RETURNING: &str = "until its checks have passed";
/// Checks of which nothing more is known.
pub const CHECKS: &str = "its checks failed";
/// A backup that is well.
pub const STANDBY: &str = "in reserve";
/// All are busy.
pub const BUSY: &str = "no new work: all are busy";
/// Nobody is in.
pub const NOBODY_IN: &str = "no member is left";
/// All are busy.
pub const ALL_BUSY: &str = "all members are busy";
/// Somebody is.
pub const SOME_LEFT: &str = "members take work again";
/// We are blind.
pub const NOTHING_MEASURED: &str = "no member can be measured: nobody is excluded or readmitted";
/// We are blind.
pub const NO_TRUSTED: &str = "no trusted server answers: nobody is excluded or readmitted";
/// No more.
pub const THAWED: &str = "members can be judged again";

/// `out: page refused`
#[must_use]
pub fn out(why: &str) -> String {
    format!("out: {why}")
}

/// `in`, or `in, weight 60%`
#[must_use]
pub fn in_with(weight: u8) -> String {
    if weight == 100 { "in".to_owned() } else { format!("in, weight {weight}%") }
}

/// `page refused, but kept in: min_members is 1`
#[must_use]
pub fn kept(why: &str, floor: u8) -> String {
    format!("{why}, but kept in: min_members is {floor}")
}

/// `drained by ops until 16:00: "upgrade"`
#[must_use]
pub fn drained(who: &str, until: Option<&str>, why: Option<&str>) -> String {
    let until = until.map_or_else(|| " for ever".to_owned(), |until| format!(" until {until}"));
    let why = why.map(|why| format!(": \"{why}\"")).unwrap_or_default();
    format!("drained by {who}{until}{why}")
}

/// `drain ended by itself: in again once its checks have passed`
#[must_use]
pub fn drain_ended(by: Option<&str>) -> String {
    let by = by.map_or("by itself".to_owned(), |who| format!("by {who}"));
    format!("drain ended {by}: in again once its checks have passed")
}

/// `3 connections cut`
#[must_use]
pub fn cut(done: u32, failed: u32, why: &str) -> String {
    let cut = super::words::counted(done, "connection");
    match failed {
        0 => format!("{cut} cut"),
        _ => format!("{cut} cut, {failed} could not be: {why}"),
    }
}

/// `haproxy: No such backend.`
#[must_use]
pub fn driver(which: &str, why: &str) -> String {
    format!("{which}: {why}")
}

/// `haproxy follows again`
#[must_use]
pub fn driver_well(which: &str) -> String {
    match which {
        "agents" => "agents are heard again".to_owned(),
        LISTENING => "it is listened on".to_owned(),
        PAGE => "the page is served".to_owned(),
        _ => format!("{which} follows again"),
    }
}

/// `web/b: it is drained for whoever was told so, and stays so: nobody watches it any more`
#[must_use]
pub fn left(name: &str, state: &str) -> String {
    format!(
        "{name}: it is {state} for whoever was told so, and stays so: nobody watches it any more"
    )
}

/// `nft: somebody else has changed what is there; it is put right`
#[must_use]
pub fn put_right(which: &str) -> String {
    format!("{which}: somebody else has changed what is there; it is put right")
}
