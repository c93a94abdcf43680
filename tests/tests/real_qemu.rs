//! Boards in QEMU, in their own time: what the reset line does, and above all what it does not.

use giveover_core::board::{End, Entry, Note, Settings, State, Why};
use giveover_core::time::Span;
use giveover_core::wire::{FromBoard, ToBoard};
use giveover_tests::vm::host::{self, Host, QUICK, Talks};
use giveover_tests::vm::shadowed::shadowed;
use giveover_tests::vm::twin::Twin;
use giveover_tests::vm::{self, Kind, LM3S6965EVB, MICROBIT, RECORD, Step, TICK_MS, Vm};

#[test]
fn fed_in_time_the_lines_do_not_move() {
    if !vm::is_here() {
        return;
    }
    for (kind, ms) in [(LM3S6965EVB, 60_000), (MICROBIT, 10_000)] {
        let mut vm = Vm::start(kind);
        let mut host = Host::set_up(&mut vm, QUICK);
        host.feed_for(&mut vm, QUICK, ms);
        let report = host.status(&mut vm);
        assert_eq!((report.state, report.resets_ever), (State::Armed, 0));
        assert_eq!((vm.pulses(), vm.held(), vm.lines()), (vec![], 0, (false, false)));
    }
}

/// And with the same notes, whether the processor has a watchdog or flash.
#[test]
fn silence_gives_exactly_one_pulse_and_a_spent_budget_is_held() {
    if !vm::is_here() {
        return;
    }
    let [one, other] = [LM3S6965EVB, MICROBIT].map(silence);
    assert_eq!(one, other);
    assert!(one.len() > 10, "{one:?}");
}

/// The story of a host that never comes back, and the board's last notes of it.
fn silence(kind: Kind) -> Vec<Note> {
    let mut vm = Vm::start(kind);
    vm.paint();
    let mut host = Host::set_up(&mut vm, QUICK);
    host.feed_for(&mut vm, QUICK, 500);
    let before = vm.now();
    host.feed(&mut vm);
    let after = vm.now();
    // Three resets, after each of which nobody boots, and then it gives over.
    vm.run(20_000);
    let pulses = vm.pulses();
    assert_eq!((pulses.len(), vm.held()), (3, 3), "{pulses:?}");
    for (from, to) in &pulses {
        let width = to.expect("an end") - from;
        assert!(width.abs_diff(250) <= TICK_MS, "{width} ms");
    }
    let timeout = u64::from(QUICK.timeout.as_millis());
    let first = pulses[0].0;
    assert!(first >= before + timeout, "{first}, fed at {before} to {after}");
    assert!(first <= after + timeout + 2 * TICK_MS, "{first}, fed at {before} to {after}");
    for pair in pulses.windows(2) {
        let apart = pair[1].0 - pair[0].1.expect("an end");
        assert!(apart >= u64::from(QUICK.boot_grace.as_millis()), "{apart} ms");
    }
    assert_eq!(vm.lines(), (false, true), "released, and the alarm on");
    let report = host.status(&mut vm);
    assert_eq!((report.state, report.resets, report.resets_ever), (State::Held, 3, 3));
    // No more stack was used than the bound says, of which `cargo xtask firmware` has made sure.
    let (used, bound) = (vm.high_water(), vm::stack_bound(kind));
    println!("{}: {used} bytes of stack used, bound {bound}", kind.name());
    assert!(used <= bound && used > 200, "{used} of {bound}");
    // And it stays so.
    vm.run(10_000);
    assert_eq!((vm.pulses().len(), vm.lines()), (3, (false, true)));
    host.log(&mut vm)
}

/// C8: the same input, the same log, on a Cortex-M3, on a Cortex-M0 and on this machine. Once nobody
/// speaks any more the notes have the same times between them too, to two ticks: an instruction takes
/// a microsecond here, and a record so many of them that a tick or two go by while it is written.
#[test]
fn the_same_trace_of_input_gives_the_same_log_everywhere() {
    let mut twin = Twin::start();
    let here = trace(&mut twin);
    assert!(here.len() >= 16, "the newest notes, as many as a board keeps: {here:?}");
    assert_eq!((twin.pulses(), twin.lines()), (3, (false, true)));
    if !vm::is_here() {
        return;
    }
    for kind in [LM3S6965EVB, MICROBIT] {
        let mut vm = Vm::start(kind);
        vm.slow_line();
        let there = trace(&mut vm);
        let notes = |log: &[Entry]| log.iter().map(|entry| entry.note).collect::<Vec<_>>();
        assert_eq!(notes(&there), notes(&here), "{}", kind.name());
        let [there, here] = [&there, &here].map(|log| silent(log));
        assert!(there.len() >= 10, "{there:?}");
        for (one, other) in there.iter().zip(&here) {
            let apart = one.abs_diff(*other);
            assert!(apart <= 2 * TICK_MS, "{}: {there:?}, here {here:?}", kind.name());
        }
        assert_eq!((vm.held(), vm.lines()), (3, (false, true)), "{}", kind.name());
    }
}

/// How long it took from note to note, behind the last that a host had asked for.
fn silent(log: &[Entry]) -> Vec<u64> {
    let asked = log.iter().rposition(|entry| matches!(entry.note, Note::Confirmed));
    let rest = log.get(asked.expect("a confirmed boot")..).unwrap_or_default();
    let warned = |entry: &Entry| entry.note == Note::State(State::Warned);
    let begun = rest.iter().position(warned).expect("silence is warned of");
    rest[begun..].windows(2).map(|pair| pair[1].at.since(pair[0].at)).collect()
}

/// A life with something of everything in it: what the board's log says of it.
fn trace(board: &mut impl Talks) -> Vec<Entry> {
    let run = |board: &mut _, ms: u64| {
        let end = Talks::now(board) + ms;
        while Talks::now(board) < end {
            Talks::tick(board);
        }
    };
    // Slow enough that a receiver of six bytes a tick makes no difference.
    let four = Span::from_secs(4);
    let slow = Settings { timeout: four, link_timeout: four, boot_grace: four, ..QUICK };
    let mut host = Host::set_up(board, slow);
    run(board, 1_000);
    host.feed_for(board, slow, 8_000);
    let mut log = host.entries(board);
    // Noise, a frame cut short, one that was overtaken, and one that is out of range.
    let late = host.sealed(&ToBoard::Reset(Why::Test));
    run(board, 1_000);
    host.feed(board);
    board.send(&[0x55; 40]);
    board.send(&late[..late.len() / 2]);
    board.send(&[0]);
    board.send(&late);
    host.say(board, &ToBoard::Disarm { span: Span::from_secs(901) });
    host.wait(board, |frame| matches!(frame, FromBoard::Answer { refusal: Some(_), .. }));
    host.say(board, &ToBoard::Disarm { span: Span::from_secs(3) });
    host.done(board);
    run(board, 3_500);
    host.feed(board);
    // A planned reboot, and one that nobody planned.
    host.say(board, &ToBoard::End(End::Reboot));
    host.done(board);
    run(board, 2_000);
    host.feed_for(board, slow, 4_000);
    run(board, 5_000);
    host.feed(board);
    host.say(board, &ToBoard::Confirm);
    host.done(board);
    log.extend(host.entries(board));
    // And then for ever silence.
    run(board, 25_000);
    log.extend(host.entries(board));
    log
}

#[test]
fn a_board_that_shadows_finds_a_host_that_decides_otherwise() {
    if !vm::is_here() {
        return;
    }
    for kind in [LM3S6965EVB.shadowing(), MICROBIT.shadowing()] {
        let mut vm = Vm::start(kind);
        shadowed(&mut vm);
        assert_eq!(vm.held(), 1, "{}", kind.name());
    }
}

#[test]
fn a_board_whose_loop_is_stuck_is_reset_by_its_own_watchdog_and_forgets_nothing() {
    if !vm::is_here() {
        return;
    }
    let mut vm = Vm::start(LM3S6965EVB);
    let mut host = Host::set_up(&mut vm, QUICK);
    // One reset, so that there is something to forget; then the host is back.
    vm.run(1_500);
    assert_eq!(vm.pulses().len(), 1);
    let report = host.feed(&mut vm);
    assert_eq!((report.state, report.resets_ever), (State::Armed, 1));
    vm.get_stuck();
    // The watchdog takes two seconds.
    vm.run(1_500);
    assert!(vm.up_ticks() > 200, "not yet");
    vm.run(1_000);
    assert!(vm.up_ticks() < 100, "started again");
    let mut host = Host::connect(&mut vm, 9);
    let report = host.status(&mut vm);
    assert!(report.armed && report.resets_ever == 1 && report.resets == 1, "{report:?}");
    // The host has its grace, and then silence counts again.
    vm.run(3_500);
    assert_eq!(vm.pulses().len(), 2, "{:?}", vm.pulses());
}

#[test]
fn hostile_frames_move_nothing() {
    if !vm::is_here() {
        return;
    }
    let settings = Settings {
        timeout: Span::from_secs(3600),
        link_timeout: Span::from_secs(3600),
        retry_interval: Span::from_secs(4 * 86_400),
        ..QUICK
    };
    let mut vm = Vm::start(LM3S6965EVB);
    let mut host = Host::set_up(&mut vm, settings);
    let before = host.status(&mut vm);
    // What was authentic once, what is cut or bent, and noise: as many as the nightly run wants.
    let nightly = std::env::var_os("GIVEOVER_NIGHTLY").is_some();
    let frames = if nightly { 100_000 } else { 10_000 };
    let reset = host.sealed(&ToBoard::Reset(Why::Test));
    let disarm = host.sealed(&ToBoard::Disarm { span: Span::from_secs(900) });
    // They were overtaken, so what follows is late and comes again and again.
    host.say(&mut vm, &ToBoard::Arm);
    host.done(&mut vm);
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |below: usize| {
        random ^= random >> 12;
        random ^= random << 25;
        random ^= random >> 27;
        (random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below
    };
    let mut bytes = vec![];
    for number in 0..frames {
        let mut frame = if number % 2 == 0 { reset.clone() } else { disarm.clone() };
        match number % 5 {
            0 => frame.truncate(next(frame.len())),
            1 => frame = (0..next(40)).map(|_| next(256) as u8).collect(),
            2 => {}
            _ => {
                let at = next(frame.len());
                frame[at] ^= 1 << next(8);
            }
        }
        bytes.extend(frame);
        bytes.push(0);
    }
    host.pour(&mut vm, &bytes);
    let mut host = Host::connect(&mut vm, 77);
    let after = host.status(&mut vm);
    assert_eq!((after.state, after.armed), (State::Armed, true));
    assert_eq!((after.resets_ever, after.failure_sum), (before.resets_ever, before.failure_sum));
    assert_eq!((vm.pulses(), vm.held(), vm.lines()), (vec![], 0, (false, false)));
}

#[test]
fn no_power_cut_at_any_word_of_flash_lowers_the_count_or_doubles_a_pulse() {
    if !vm::is_here() {
        return;
    }
    let mut vm = Vm::start(MICROBIT);
    drop(Host::set_up(&mut vm, QUICK));
    let mut known = 0;
    // A pulse writes its intent and its end; the first word of each, the last, and some between.
    let every = if std::env::var_os("GIVEOVER_NIGHTLY").is_some() { 1 } else { 9 };
    let words = || (1..=RECORD).filter(move |word| word % every == 1 % every || *word == RECORD);
    let steps = words().map(Step::Intent).chain([Step::Held]).chain(words().map(Step::Done));
    let mut pulses = 0;
    for (turn, step) in steps.enumerate() {
        assert!(vm.run_to(step, 6_000), "no pulse came to {step:?}");
        pulses += usize::from(step.has_pulsed());
        vm.cut_power();
        let mut host = Host::connect(&mut vm, 100 + turn as u64);
        let report = host.status(&mut vm);
        assert!(report.resets_ever >= known, "{report:?} after {known}, cut at {step:?}");
        assert_eq!(vm.held(), pulses, "cut at {step:?}");
        assert!(vm.held() <= report.resets_ever as usize, "every pulse was counted");
        known = report.resets_ever;
        host.say(&mut vm, &ToBoard::Clear);
        host.done(&mut vm);
        while host.status(&mut vm).state == State::Cold {
            vm.tick();
        }
        let report = host.feed(&mut vm);
        assert!(report.armed && report.state != State::Held, "{report:?}");
    }
    assert!(pulses > 3 && known as usize == pulses, "{known} of {pulses}");
}

#[test]
fn the_image_as_it_is_flashed_sleeps_and_says_what_it_is() {
    if !vm::is_here() {
        return;
    }
    for kind in [LM3S6965EVB, MICROBIT] {
        vm::as_flashed(kind, |line| {
            let about = host::ask(line);
            assert!(about.board.starts_with(kind.name().as_bytes()), "{about:?}");
            assert!(about.power_up && about.bites == 0, "{about:?}");
        });
    }
}

/// The words of a log stay in the image's file on the host.
#[test]
fn an_image_that_logs_says_each_note_as_text() {
    if !vm::is_here() {
        return;
    }
    let mut vm = Vm::start(LM3S6965EVB.logging());
    let mut host = Host::set_up(&mut vm, QUICK);
    host.feed_for(&mut vm, QUICK, 500);
    vm.run(3_000);
    assert_eq!(vm.held(), 1);
    let log = vm.log();
    println!("{}", log.join("\n"));
    let said = |words: &str| log.iter().any(|line| line.contains(words));
    assert!(said("Started { power_up: true }") && said("State(Armed)"), "{log:?}");
    assert!(said("Intent { ticket: 1, why: Silence }"), "{log:?}");
    // As many as a host that asks is told, and more: a note is a line however full the log is.
    assert!(log.len() >= host.entries(&mut vm).len(), "{log:?}");
}
