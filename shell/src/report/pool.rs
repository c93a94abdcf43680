//! `giveover pool list`: a line a member.

use super::model::{MemberDoc, PoolDoc};
use super::paint::Paint;
use super::phrase;
use super::table::{Column, Edge, Table, WIDTH, cut};
use super::time::Moment;
use crate::message::span;

const COLUMNS: [Column; 6] = [
    ("MEMBER", Edge::Left),
    ("ADDRESS", Edge::Left),
    ("STATE", Edge::Left),
    ("FOR", Edge::Right),
    ("WEIGHT", Edge::Right),
    ("CHECKS", Edge::Left),
];

/// The columns that give way on a narrow screen: what was seen, the address, the name.
const SOFT: [usize; 3] = [5, 1, 0];

/// The screen for a terminal.
#[must_use]
pub fn screen(pools: &[PoolDoc], now: Moment, paint: Paint) -> String {
    if pools.is_empty() {
        return String::from("no pools\n");
    }
    let mut lines = Vec::new();
    for pool in pools {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(section(pool, now, paint));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The lines of one pool.
#[must_use]
pub fn section(pool: &PoolDoc, now: Moment, paint: Paint) -> Vec<String> {
    let mut lines = vec![heading(pool, paint)];
    lines.extend(pool.trouble.iter().map(|text| paint.alarm(&cut(&format!("  {text}"), WIDTH))));
    let mut table = Table::new(&COLUMNS, &SOFT);
    for member in &pool.members {
        table.row(cells(member, now));
    }
    lines.extend(table.lines(WIDTH, |row, column, text| match pool.members.get(row) {
        Some(member) if column == 2 => paint.status(colour(member), &text),
        _ => text,
    }));
    lines
}

/// `web   2 of 3 in; told: agent checks at 127.0.0.1:9707`
fn heading(pool: &PoolDoc, paint: Paint) -> String {
    let (takes, all) = (pool.takes_work, pool.members.len());
    let mut text = format!("{}   {takes} of {all} take work", pool.name);
    let mut alarmed = false;
    let more = match (pool.none_left.as_deref(), pool.frozen.as_deref()) {
        (Some("all_busy"), _) => "ALL ARE BUSY",
        (Some(_), _) => "NONE LEFT",
        (None, Some("no_trusted")) => "FROZEN: no trusted server answers",
        (None, Some(_)) => "FROZEN: no member can be measured",
        (None, None) => "",
    };
    if !more.is_empty() {
        alarmed = true;
        text += &format!("   {more}");
    }
    if !pool.told.is_empty() {
        text += &format!("   told: {}", pool.told.join(", "));
    }
    let text = cut(&text, WIDTH);
    if alarmed { paint.alarm(&text) } else { text }
}

/// A line a member for other programs: tab-separated, no header, the pool's name first.
#[must_use]
pub fn plain(pools: &[PoolDoc], now: Moment) -> String {
    let mut text = String::new();
    for pool in pools {
        for member in &pool.members {
            text += &format!("{}\t{}\n", pool.name, cells(member, now).join("\t"));
        }
    }
    text
}

fn cells(member: &MemberDoc, now: Moment) -> Vec<String> {
    let backup = if member.backup { " (backup)" } else { "" };
    let weight = member.weight.map_or_else(|| String::from("-"), |weight| format!("{weight}%"));
    vec![
        format!("{}{backup}", member.name),
        member.address.clone(),
        member.state.clone(),
        span::coarse(member.for_ms),
        weight,
        seen(member, now),
    ]
}

/// What keeps it out or in, and else what its checks saw.
fn seen(member: &MemberDoc, now: Moment) -> String {
    if let Some(drained) = &member.drained {
        let until = drained.until.as_deref().and_then(Moment::parse).map(|at| at.end(now));
        let until = until.map_or_else(|| String::from("for ever"), |at| format!("until {at}"));
        let who = drained.who.as_deref().unwrap_or("a person");
        return format!("drained by {who} {until}");
    }
    let checks: Vec<String> = member.checks.iter().map(phrase::check).collect();
    let checks = checks.join(", ");
    match (member.kept, member.why.as_str()) {
        (true, _) => format!("kept by min_members; {checks}"),
        (false, "") => checks,
        (false, why) => why.to_owned(),
    }
}

/// The status whose colour a state has.
fn colour(member: &MemberDoc) -> &'static str {
    match member.state.as_str() {
        "in" | "standby" if !member.kept => "ok",
        "out" => "faulted",
        _ => "degraded",
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{CheckDoc, HeldDoc};
    use super::*;

    fn member(name: &str, state: &str) -> MemberDoc {
        MemberDoc {
            name: name.into(),
            address: format!("10.0.0.1{}:80", name.len()),
            state: state.into(),
            for_ms: 90_000,
            weight: (state == "in").then_some(100),
            checks: vec![CheckDoc {
                name: "page".into(),
                outcome: "healthy".into(),
                cause: "200".into(),
                ms: 3,
                ..CheckDoc::default()
            }],
            ..MemberDoc::default()
        }
    }

    fn pool() -> PoolDoc {
        let until = Some("2026-11-29T16:00:00.000Z".into());
        let drained = HeldDoc { who: Some("ops".into()), until, ..HeldDoc::default() };
        let members = vec![
            member("a", "in"),
            MemberDoc { why: "page refused".into(), ..member("bb", "out") },
            MemberDoc { drained: Some(drained), ..member("ccc", "drained") },
            MemberDoc { backup: true, ..member("d", "standby") },
        ];
        let told = vec!["agent checks at 127.0.0.1:9707".into()];
        PoolDoc { name: "web".into(), takes_work: 1, told, members, ..PoolDoc::default() }
    }

    fn now() -> Moment {
        Moment::parse("2026-11-29T14:00:00.000Z").expect("a time")
    }

    #[test]
    fn a_pool_is_a_heading_and_a_line_a_member() {
        let expected = "\
web   1 of 4 take work   told: agent checks at 127.0.0.1:9707
MEMBER      ADDRESS       STATE    FOR  WEIGHT  CHECKS
a           10.0.0.11:80  in        1m    100%  page 200 3ms
bb          10.0.0.12:80  out       1m       -  page refused
ccc         10.0.0.13:80  drained   1m       -  drained by ops until 16:00
d (backup)  10.0.0.11:80  standby   1m       -  page 200 3ms
";
        assert_eq!(screen(&[pool()], now(), Paint::new(false)), expected);
    }

    #[test]
    fn what_must_be_seen_stands_in_the_heading() {
        let none = PoolDoc { none_left: Some("nobody_in".into()), ..pool() };
        assert!(screen(&[none], now(), Paint::new(false)).contains("   NONE LEFT   "));
        let frozen = PoolDoc { frozen: Some("no_trusted".into()), ..pool() };
        assert!(screen(&[frozen], now(), Paint::new(false)).contains("FROZEN: no trusted"));
        assert_eq!(screen(&[], now(), Paint::new(false)), "no pools\n");
    }

    #[test]
    fn other_programs_get_a_line_a_member() {
        let text = plain(&[pool()], now());
        assert_eq!(text.lines().next(), Some("web\ta\t10.0.0.11:80\tin\t1m\t100%\tpage 200 3ms"));
        assert_eq!(text.lines().count(), 4);
    }
}
