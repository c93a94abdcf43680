use super::*;

const BOOT: Option<BootId> = Some(BootId(1));
const NEXT_BOOT: Option<BootId> = Some(BootId(2));

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn reading(monotonic_ms: u64, slept_ms: u64, wall_ms: u64) -> Reading {
    Reading { monotonic_ms, boottime_ms: monotonic_ms + slept_ms, wall_ms }
}

fn previous(last_ms: u64) -> Previous {
    Previous { boot: BOOT, offset_ms: 1000, last: at(last_ms) }
}

#[test]
fn a_crash_keeps_the_offset_and_down_time_counts() {
    let offset = carry_on(Some(&previous(61_000)), BOOT, 90_000);
    assert_eq!(offset, 1000);
    assert_eq!(Clock::at(reading(90_000, 0, 0), offset).anchor().at, at(91_000));
}

#[test]
fn a_reboot_goes_on_where_the_last_entry_was() {
    for monotonic_ms in [0, 4_000, 60_000, 10_000_000] {
        let offset = carry_on(Some(&previous(61_000)), NEXT_BOOT, monotonic_ms);
        let clock = Clock::at(reading(monotonic_ms, 0, 0), offset);
        assert_eq!(clock.anchor().at, at(61_000), "up {monotonic_ms} ms");
    }
}

#[test]
fn a_boot_without_a_name_is_another_boot() {
    let unnamed = Previous { boot: None, ..previous(61_000) };
    assert_eq!(carry_on(Some(&unnamed), None, 90_000), -29_000);
    assert_eq!(carry_on(Some(&previous(61_000)), None, 90_000), -29_000);
}

#[test]
fn a_kernel_clock_that_went_back_never_moves_the_line_back() {
    let offset = carry_on(Some(&previous(61_000)), BOOT, 5_000);
    assert_eq!(Clock::at(reading(5_000, 0, 0), offset).anchor().at, at(61_000));
}

#[test]
fn offsets_at_the_ends_of_the_numbers_saturate() {
    let end = Previous { boot: BOOT, offset_ms: 0, last: at(u64::MAX) };
    assert_eq!(carry_on(Some(&end), NEXT_BOOT, 0), i64::MAX);
    let start = Previous { boot: BOOT, offset_ms: 0, last: at(0) };
    assert_eq!(carry_on(Some(&start), NEXT_BOOT, u64::MAX), i64::MIN);
    assert_eq!(carry_on(None, BOOT, 77), 0);
}

#[test]
fn sleep_is_noticed_and_counts_for_nothing() {
    let mut clock = Clock::at(reading(1_000, 500, 10_000), 0);
    let look = clock.look_at(reading(2_000, 500 + 3_600_000, 11_000 + 3_600_000));
    assert_eq!(look.now, at(2_000));
    assert_eq!(look.slept_ms, Some(3_600_000));
    assert_eq!(look.stepped_ms, None, "the wall clock went on while the machine slept");
    assert_eq!(clock.wall_ms(at(1_500)), 10_500, "what was before the sleep stays there");
    assert_eq!(clock.wall_ms(at(2_500)), 11_500 + 3_600_000);
    let look = clock.look_at(reading(3_000, 500 + 3_600_000, 12_000 + 3_600_000));
    assert_eq!((look.slept_ms, look.stepped_ms, look.anchor), (None, None, None));
}

#[test]
fn a_step_of_the_wall_clock_moves_nothing_but_what_is_shown() {
    let ten_years = 315_360_000_000;
    let mut clock = Clock::at(reading(1_000, 0, 2 * ten_years), 0);
    let look = clock.look_at(reading(2_000, 0, 2 * ten_years + 1_000 + ten_years));
    assert_eq!((look.now, look.stepped_ms), (at(2_000), Some(ten_years as i64)));
    let look = clock.look_at(reading(3_000, 0, 2 * ten_years + 2_000));
    assert_eq!((look.now, look.stepped_ms), (at(3_000), Some(-(ten_years as i64))));
    assert_eq!(clock.wall_ms(at(3_500)), 2 * ten_years + 2_500);
    assert_eq!(clock.wall_ms(at(2_500)), 3 * ten_years + 1_500);
    assert_eq!(clock.wall_ms(at(500)), 2 * ten_years - 500);
}

#[test]
fn a_slewed_clock_is_followed_without_being_called_a_step() {
    let mut clock = Clock::at(reading(0, 0, 1_000_000), 0);
    let mut anchors = 0;
    for second in 1..=3_600u64 {
        let look =
            clock.look_at(reading(second * 1_000, 0, 1_000_000 + second * 1_000 + second / 2));
        assert_eq!(look.stepped_ms, None);
        anchors += u32::from(look.anchor.is_some());
    }
    assert!((10..30).contains(&anchors), "{anchors} anchors in an hour at 500 ppm");
    assert!(clock.wall_ms(at(3_600_000)).abs_diff(1_000_000 + 3_600_000 + 1_800) <= 100);
}

#[test]
fn late_is_what_no_busy_loop_is() {
    let tick = Span::from_millis(20);
    assert_eq!(late(at(1_000), at(1_200), tick), None);
    assert_eq!(late(at(1_000), at(1_201), tick), Some(201));
    assert_eq!(late(at(1_000), at(900), tick), None);
    assert_eq!(late(at(0), at(1_001), Span::from_secs(10)), Some(1_001));
    assert_eq!(late(at(0), at(101), Span::ZERO), Some(101));
}

#[test]
fn the_clocks_of_this_machine_can_be_read() {
    let mut clock = Clock::new(500);
    let first = clock.now();
    let look = clock.look();
    assert!(look.now >= first);
    assert_eq!(look.stepped_ms, None);
    let shown = clock.wall(look.now);
    assert!(shown.ends_with('Z') && shown.len() == "2026-01-01T00:00:00.000Z".len(), "{shown}");
}

#[test]
fn a_boot_id_is_read_and_written_as_the_kernel_has_it() {
    let text = "0f0e1d2c-3b4a-5968-7786-95a4b3c2d1e0";
    let id = BootId::parse(&format!("{text}\n")).expect("an id");
    assert_eq!(id.to_string(), text);
    assert_eq!(BootId::parse(""), None);
    assert_eq!(BootId::parse("+f0e1d2c-3b4a-5968-7786-95a4b3c2d1e0"), None);
    assert!(BootId::read().is_some(), "Linux says which boot it is");
}

#[test]
fn a_date_past_the_end_of_the_format_is_its_last() {
    assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59.999Z");
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
}

#[test]
fn earlier_anchors_are_remembered_across_a_run() {
    let mut earlier = Anchors::default();
    earlier.add(Anchor { at: at(100), wall_ms: 5_000 });
    let mut clock = Clock::at(reading(0, 0, 90_000), 200);
    clock.remember(&earlier);
    assert_eq!(clock.wall_ms(at(150)), 5_050);
    assert_eq!(clock.wall_ms(at(250)), 90_050);
}
