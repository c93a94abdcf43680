//! Boards in QEMU, in their own time: what the reset line does, and above all what it does not.

use giveover_core::board::State;
use giveover_tests::vm::host::{Host, QUICK};
use giveover_tests::vm::{self, LM3S6965EVB, TICK_MS, Vm};

/// What the emulator sees of a line that is released all the time: its pull-up at the start.
fn edges(vm: &Vm) -> usize {
    vm.trace().iter().filter(|line| line.contains("output 0 to 0")).count()
}

#[test]
fn fed_in_time_the_lines_do_not_move() {
    if !vm::is_here() {
        return;
    }
    let mut vm = Vm::start(LM3S6965EVB);
    let mut host = Host::set_up(&mut vm, QUICK);
    host.feed_for(&mut vm, QUICK, 60_000);
    let report = host.status(&mut vm);
    assert_eq!((report.state, report.resets_ever), (State::Armed, 0));
    assert_eq!((vm.pulses(), edges(&vm), vm.lines()), (vec![], 0, (false, false)));
}

#[test]
fn silence_gives_exactly_one_pulse_and_a_spent_budget_is_held() {
    if !vm::is_here() {
        return;
    }
    let mut vm = Vm::start(LM3S6965EVB);
    let mut host = Host::set_up(&mut vm, QUICK);
    host.feed_for(&mut vm, QUICK, 500);
    let before = vm.now();
    host.feed(&mut vm);
    let after = vm.now();
    // Three resets, after each of which nobody boots, and then it gives over.
    vm.run(20_000);
    let pulses = vm.pulses();
    assert_eq!((pulses.len(), edges(&vm)), (3, 3), "{pulses:?}");
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
    // And it stays so.
    vm.run(10_000);
    assert_eq!((vm.pulses().len(), vm.lines()), (3, (false, true)));
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
    vm.run(6_000);
    assert_eq!(vm.pulses().len(), 2, "{:?}", vm.pulses());
}
