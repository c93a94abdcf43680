use super::*;

const T: fn(u32) -> Ticket = Ticket;

fn at(s: u64) -> Instant {
    Instant::from_millis(s * 1000)
}

fn up(carrier: &mut Carrier) {
    carrier.release(T(1), How::Leftover);
    carrier.address(Done::Dropped { ok: true });
    carrier.stopped(true);
    carrier.take(T(2), at(9));
    carrier.ran(Hook::OnActive, true);
    carrier.address(Done::Taken(Taken::Up));
    assert!(carrier.is_up(), "{carrier:?}");
}

fn released(ticket: u32, ok: bool) -> Order {
    Order::Tell(Event::Released { ticket: T(ticket), ok })
}

fn taken(ticket: u32, taken: Taken) -> Order {
    Order::Tell(Event::Taken { ticket: T(ticket), taken })
}

#[test]
fn what_an_earlier_life_left_goes_before_anything_comes() {
    let mut carrier = Carrier::new(true, true, false);
    let orders = carrier.release(T(1), How::Leftover);
    let drop = Order::Address(Step::Drop { leftover: true });
    assert_eq!(orders, [drop, Order::Stop { at_once: false }]);
    assert_eq!(carrier.stopped(true), []);
    assert_eq!(carrier.address(Done::Dropped { ok: true }), [released(1, true)]);
    assert!(!carrier.is_up());
}

#[test]
fn the_command_then_the_addresses_then_the_services() {
    let mut carrier = Carrier::new(true, true, false);
    carrier.state = State::Idle { clean: true };
    assert_eq!(carrier.take(T(2), at(9)), [Order::Run(Hook::OnActive)]);
    assert_eq!(carrier.renew(at(10)), []);
    let take = Order::Address(Step::Take { until: at(10) });
    assert_eq!(carrier.ran(Hook::OnActive, true), [take]);
    let orders = carrier.address(Done::Taken(Taken::Up));
    assert_eq!(orders, [taken(2, Taken::Up), Order::Start]);
    assert_eq!(carrier.renew(at(11)), [Order::Address(Step::Renew { until: at(11) })]);
}

#[test]
fn a_command_that_fails_brings_nothing_up() {
    let mut carrier = Carrier::new(true, false, false);
    carrier.state = State::Idle { clean: true };
    carrier.take(T(2), at(9));
    assert_eq!(carrier.ran(Hook::OnActive, false), [taken(2, Taken::Failed)]);
    assert!(!carrier.is_up());
    assert_eq!(carrier.take(T(3), at(10)), [Order::Run(Hook::OnActive)]);
}

#[test]
fn in_an_orderly_end_the_services_go_first_and_the_addresses_after() {
    let mut carrier = Carrier::new(true, true, false);
    up(&mut carrier);
    assert_eq!(carrier.release(T(3), How::Orderly), [Order::Stop { at_once: false }]);
    let drop = Order::Address(Step::Drop { leftover: false });
    assert_eq!(carrier.stopped(true), [drop]);
    assert_eq!(carrier.address(Done::Dropped { ok: true }), [Order::Run(Hook::OnStandby)]);
    assert_eq!(carrier.ran(Hook::OnStandby, false), [released(3, true)]);
}

#[test]
fn what_cannot_be_proven_stopped_is_not_handed_over() {
    let mut carrier = Carrier::new(false, true, false);
    up(&mut carrier);
    carrier.release(T(3), How::Orderly);
    assert_eq!(carrier.stopped(false), [released(3, false), Order::Start]);
    assert!(carrier.is_up());
}

#[test]
fn at_once_the_addresses_go_first_and_nothing_waits_for_anything() {
    let mut carrier = Carrier::new(false, false, false);
    up(&mut carrier);
    let orders = carrier.release(T(3), How::AtOnce);
    let drop = Order::Address(Step::Drop { leftover: false });
    assert_eq!(orders, [drop, Order::Stop { at_once: true }]);
    assert_eq!(carrier.address(Done::Dropped { ok: true }), []);
    assert_eq!(carrier.stopped(false), [released(3, false)]);
    // What is not proven stopped is stopped before it comes up here again.
    assert_eq!(carrier.take(T(4), at(20)), [Order::Stop { at_once: true }]);
    assert_eq!(carrier.stopped(false), [taken(4, Taken::Failed)]);
    assert!(carrier.is_unclean());
    assert_eq!(carrier.stopped(true), [], "once more, while nobody asks");
    assert!(!carrier.is_unclean());
    carrier.state = State::Idle { clean: false };
    carrier.take(T(5), at(21));
    let take = Order::Address(Step::Take { until: at(21) });
    assert_eq!(carrier.stopped(true), [take]);
}

#[test]
fn a_take_during_a_release_waits_for_its_end() {
    let mut carrier = Carrier::new(false, false, false);
    up(&mut carrier);
    carrier.release(T(3), How::AtOnce);
    assert_eq!(carrier.take(T(4), at(20)), []);
    carrier.address(Done::Dropped { ok: true });
    let take = Order::Address(Step::Take { until: at(20) });
    assert_eq!(carrier.stopped(true), [released(3, true), take]);
}

#[test]
fn a_release_calls_off_a_take() {
    let mut carrier = Carrier::new(true, true, false);
    carrier.state = State::Idle { clean: true };
    carrier.take(T(2), at(9));
    let orders = carrier.release(T(3), How::AtOnce);
    assert_eq!(orders[0], Order::Cancel);
    assert_eq!(carrier.ran(Hook::OnActive, true), [], "it was called off");
    assert_eq!(carrier.address(Done::Taken(Taken::Up)), []);
}

#[test]
fn an_address_that_went_is_told_and_taken_again_beside_running_services() {
    let mut carrier = Carrier::new(true, true, false);
    up(&mut carrier);
    assert_eq!(carrier.address(Done::Lost), [Order::Tell(Event::AddressLost)]);
    let take = Order::Address(Step::Take { until: at(30) });
    assert_eq!(carrier.take(T(7), at(30)), [take]);
    assert_eq!(carrier.address(Done::Taken(Taken::Up)), [taken(7, Taken::Up)]);
    assert!(carrier.is_up());
}

/// `run = "all"`: the address alone comes and goes, by the same steps and commands.
#[test]
fn services_that_run_everywhere_are_neither_started_nor_stopped() {
    let mut carrier = Carrier::new(true, true, true);
    let drop = |leftover| Order::Address(Step::Drop { leftover });
    assert_eq!(carrier.release(T(1), How::Leftover), [drop(true)]);
    assert_eq!(carrier.address(Done::Dropped { ok: true }), [released(1, true)]);
    assert!(!carrier.is_unclean(), "nothing of it is to be stopped");
    for (ticket, how) in [(2, How::Orderly), (4, How::AtOnce)] {
        assert_eq!(carrier.take(T(ticket), at(9)), [Order::Run(Hook::OnActive)]);
        let take = Order::Address(Step::Take { until: at(9) });
        assert_eq!(carrier.ran(Hook::OnActive, true), [take]);
        let up = Done::Taken(Taken::Up);
        assert_eq!(carrier.address(up), [taken(ticket, Taken::Up)], "{how:?}");
        assert_eq!(carrier.release(T(ticket + 1), how), [drop(false)]);
        let gone = Done::Dropped { ok: true };
        assert_eq!(carrier.address(gone), [Order::Run(Hook::OnStandby)]);
        assert_eq!(carrier.ran(Hook::OnStandby, true), [released(ticket + 1, true)]);
    }
    assert_eq!(carrier.take(T(6), at(9)), [Order::Run(Hook::OnActive)]);
    assert_eq!(carrier.release(T(7), How::Orderly), [Order::Cancel, drop(false)]);
    assert_eq!(carrier.address(Done::Dropped { ok: false }), [released(7, false)]);
    assert!(!carrier.is_unclean());
}
