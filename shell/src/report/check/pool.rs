//! What a pool will do, in sentences.

use crate::config::many;
use crate::config::plan::{Instead, PoolPlan};
use crate::message::span;

/// A sentence each: who is in, when they move, who is told, and what happens when none is left.
pub(super) fn sentences(pool: &PoolPlan) -> Vec<String> {
    let settings = &pool.settings;
    let backups = pool.members.iter().filter(|member| member.backup).count();
    let members = match backups {
        0 => many(pool.members.len(), "member"),
        _ => format!("{}, {} of them", many(pool.members.len(), "member"), many(backups, "backup")),
    };
    let (count, of) = (settings.fall.count, settings.fall.of);
    let fall = match count {
        1 => "after 1 failed cycle".to_owned(),
        _ if count == of => format!("after {count} failed cycles in a row"),
        _ => format!("after {count} failed cycles of the last {of}"),
    };
    let interval = u64::from(settings.interval.as_millis());
    let timeout = pool.members.iter().flat_map(|it| it.checks.iter());
    let timeout = timeout.map(|check| u64::from(check.timeout.as_millis())).max().unwrap_or(0);
    let out = span::compact(u64::from(count) * interval + timeout);
    let back = span::compact((u64::from(settings.rise) + 1) * interval);
    let rise = many(usize::from(settings.rise), "healthy cycle");
    let mut sentences =
        vec![format!("{members}; one is out {fall}, at worst {out}, and in after {rise}, {back}")];
    sentences.push(format!("told: {}", told(pool)));
    sentences.push(none_left(pool));
    if settings.cut {
        sentences.push("connections of a member are cut when it is out, or its drain ends".into());
    }
    if pool.whole_server {
        sentences.push("a member is out while the same host is out of another pool".into());
    }
    sentences
}

fn told(pool: &PoolPlan) -> String {
    let mut ways = Vec::new();
    ways.extend(pool.agent.map(|at| format!("HAProxy, whose agent checks are answered at {at}")));
    ways.extend(
        pool.haproxy
            .as_ref()
            .map(|it| format!("HAProxy's backend {} by {}", it.backend, it.socket.display())),
    );
    ways.extend(pool.nft.as_ref().map(|it| format!("nftables, table {} {}", it.family, it.table)));
    ways.extend(pool.ipvs.map(|at| format!("IPVS, service {at}")));
    ways.extend(pool.command.as_ref().map(|words| format!("the command {}", words.join(" "))));
    ways.join("; ")
}

fn none_left(pool: &PoolPlan) -> String {
    let floor = match pool.settings.min_members {
        0 => String::new(),
        1 => "1 member stays in, however its checks look; ".to_owned(),
        many => format!("{many} members stay in, however their checks look; "),
    };
    let then = match &pool.none_left {
        None => "when none is left nobody answers for them".to_owned(),
        Some(plan) => {
            let what = match &plan.instead {
                Instead::Page(path) => format!("the page {} with 503", path.display()),
                Instead::Redirect(url) => format!("a redirect to {url}"),
                Instead::Reset => "a reset".to_owned(),
            };
            let plain = if plan.instead == Instead::Reset { "" } else { ", by plain HTTP only" };
            format!("when none is left clients get {what} at {}{plain}", plan.listen)
        }
    };
    format!("{floor}{then}")
}
