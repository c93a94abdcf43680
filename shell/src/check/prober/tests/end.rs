//! Exactly one answer, whatever happens.

use super::*;

#[test]
fn when_we_did_not_run_every_probe_is_void() {
    let (mut turns, (nowhere, _only)) = (Loop::new(), full("127.0.0.2:0"));
    let port = nowhere.local_addr().expect("its address").port();
    let listener = listen("127.0.0.1:0");
    let racing = named("127.0.0.2+127.0.0.1", port, plain());
    turns.start(&racing);
    turns.turn(&racing);
    for plan in [&at(&nowhere, plain()), &at(&listener, page(None)), &at(&listener, xfnts())] {
        turns.start(plan);
    }
    turns.start(&named("later.test", 80, plain()));
    assert_eq!(turns.prober.in_flight(), 5);
    turns.pass(60_000);
    turns.prober.void_all(&mut turns.reactor, turns.now);
    let results: Vec<_> = turns.answered().into_iter().map(|answer| answer.result).collect();
    assert_eq!(results, [ProbeResult::Void; 5]);
    assert!(turns.is_clean());
}

#[test]
fn a_probe_whose_plan_is_gone_or_another_is_void() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let gone: Vec<crate::config::plan::ServicePlan> = Vec::new();
    let id = ProbeId { service: 7, check: 0, target: 0, cycle: 0 };
    turns.prober.start(&mut turns.reactor, &gone, id, turns.now);
    assert_eq!(turns.answer().result, ProbeResult::Void);

    turns.start(&at(&listener, page(None)));
    accept(&listener).write_all(b"HTTP/1.1 204\r\n\r\n").expect("sent");
    assert_eq!(turns.run(&at(&listener, dialogue("", "x"))), ProbeResult::Void);
    assert!(turns.is_clean());
}

#[test]
fn a_timer_that_fires_too_early_is_armed_again() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(None));
    turns.start(&plan);
    let limit = turns.reactor.timers.next().expect("a limit");
    let token = turns.reactor.timers.pop_due(limit).expect("a timer");
    turns.prober.due(&mut turns.reactor, &plan, token, turns.now);
    assert_eq!((turns.reactor.timers.next(), turns.reactor.timers.len()), (Some(limit), 1));
    turns.prober.due(&mut turns.reactor, &plan, token, turns.now);
    assert_eq!(turns.reactor.timers.len(), 1);
    turns.expire(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
    assert!(turns.is_clean());
}

/// Whatever servers, clocks and callers do, every probe has exactly one answer and leaves
/// nothing behind.
#[test]
fn every_probe_is_answered_exactly_once() {
    let mut random = Random::new(2026);
    let mut turns = Loop::new();
    let (_full, open, port) = full_beside(|port| TcpListener::bind(("127.0.0.1", port)));
    open.set_nonblocking(true).expect("no blocking");
    let plans: Vec<CheckPlan> =
        [plain(), page(None), dialogue("a", "b"), dialogue("a", ""), xfnts()]
            .into_iter()
            .flat_map(|kind| {
                let names =
                    ["127.0.0.2+127.0.0.1", "127.0.0.3+127.0.0.2", "127.0.0.3", "none.test"];
                let named = names.map(|name| named(name, port, kind.clone()));
                let literal = check(Host::Address([127, 0, 0, 1].into()), port, kind.clone());
                named.into_iter().chain([literal])
            })
            .collect();
    let plans = Plans(plans);
    let (mut streams, mut stale) = (Vec::new(), Vec::new());
    let mut count = vec![0; 3_000];
    for cycle in 0..count.len() as u32 {
        let check = random.below(plans.0.len()) as u8;
        let id = ProbeId { service: 0, check, target: 0, cycle };
        turns.prober.start(&mut turns.reactor, &plans, id, turns.now);
        if let Ok((stream, _)) = open.accept() {
            stream.set_nonblocking(true).expect("no blocking");
            streams.push(stream);
        }
        if !streams.is_empty() {
            let place = random.below(streams.len());
            let said: [&[u8]; 4] = [b"b", b"HTTP/1.1 200 OK\r\n", b"\r\n", b"HTTP/1.1 204\r\n\r\n"];
            let _ = streams[place].write(said[random.below(4)]);
            match random.below(5) {
                0 => drop(streams.swap_remove(place)),
                1 => reset(streams.swap_remove(place)),
                _ => {}
            }
        }
        turns.pass(random.below(300) as u32);
        turns.reactor.wait(Some(Duration::ZERO), &mut turns.ready).expect("no error");
        for ready in std::mem::take(&mut turns.ready) {
            stale.push(ready);
            turns.prober.ready(&mut turns.reactor, &plans, ready, turns.now);
        }
        if random.below(3) == 0 {
            while let Some(token) = turns.reactor.timers.pop_due(turns.now) {
                turns.prober.due(&mut turns.reactor, &plans, token, turns.now);
            }
        }
        if random.below(300) == 0 {
            turns.prober.void_all(&mut turns.reactor, turns.now);
        }
        if let Some(ready) = stale.get(random.below(stale.len())).copied() {
            // An event that comes again, or long after: true or not, it must do no harm.
            turns.prober.due(&mut turns.reactor, &plans, ready.token, turns.now);
        }
        turns.prober.answers().for_each(|answer| count[answer.id.cycle as usize] += 1);
        turns.prober.handovers().for_each(|handover| count[handover.id.cycle as usize] += 1);
    }
    turns.pass(60_000);
    while let Some(token) = turns.reactor.timers.pop_due(turns.now) {
        turns.prober.due(&mut turns.reactor, &plans, token, turns.now);
        turns.pass(0);
    }
    turns.prober.answers().for_each(|answer| count[answer.id.cycle as usize] += 1);
    assert!(count.iter().all(|answers| *answers == 1));
    // What takes its leave has timers of its own.
    while turns.reactor.timers.next().is_some() {
        turns.expire(&plans.0[0]);
    }
    assert!(turns.is_clean());
}
