use super::*;

const VECTORS: &str = include_str!("../../../../tests/vectors/nodes.toml");

fn run(text: &str) -> Outcome {
    let outcome = run_text(text, "nodes.toml");
    outcome.unwrap_or_else(|errors| panic!("{errors}")).expect("there are [[nodes]] in it")
}

#[test]
fn every_timeline_comes_out_as_expected() {
    let outcome = run(VECTORS);
    assert_eq!(outcome.differing(), 0, "\n{}", text(&outcome, "nodes.toml"));
    assert!(outcome.played.len() > 15, "{}", outcome.played.len());
    let expected = outcome.played.iter().all(|one| one.steps.iter().any(|told| told.expected));
    assert!(expected, "a timeline that expects nothing shows nothing");
}

#[test]
fn what_differs_is_told_under_its_step() {
    let wrong = VECTORS.replacen("holders = [\"server1\"]", "holders = [\"server2\"]", 1);
    let outcome = run(&wrong);
    assert_eq!(outcome.differing(), 1);
    let told = text(&outcome, "nodes.toml");
    assert!(told.contains("- holders = server2\n"), "{told}");
    assert!(told.contains("+ holders = server1\n"), "{told}");
    assert!(json_lines(&outcome).contains("\"as_expected\":false"));
}

#[test]
fn a_file_of_another_form_is_none_of_ours() {
    assert!(matches!(run_text("[[scenario]]\nname = \"x\"\n", "x.toml"), Ok(None)));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let head = "[[nodes]]\nname = \"x\"\nnodes = [\"a\", \"b\"]\nquorum = \"stay\"\n";
    for (step, said) in [
        ("step = [{ at = \"0s\", start = \"c\" }]", "no node is called `c`"),
        ("step = [{ at = \"0s\", stat = \"a\" }]", "did you mean `start`?"),
        ("step = [{ at = \"0s\" }]", "a step has one input"),
        ("step = [{ at = \"0s\", cut = [\"a\"] }]", "cut: needs two nodes"),
        ("step = [{ at = \"2s\", tick = true }, { at = \"1s\", tick = true }]", "earlier"),
        ("step = [{ at = \"0s\", tick = false }]", "can only be true"),
        ("lease = \"1s\"\nstep = []", "lease must be at least 3000 ms"),
        ("witnesses = [\"b\"]\nstep = []", "only `majority` counts"),
        ("step = [{ at = \"0s\", tick = true, expect = { roles = { a = \"up\" } } }]", "roles"),
    ] {
        let errors = run_text(&format!("{head}{step}\n"), "x.toml").expect_err(step).to_string();
        let known = errors.contains(said) || said == "roles" && errors.contains("standby");
        assert!(known, "{step}: {errors}");
        assert!(errors.contains("x.toml:"), "{errors}");
    }
}
