//! `needs`: which services must be ok before others are acted on.

use std::collections::HashMap;

use super::report::Findings;
use super::source::Place;
use super::words;

/// What one service needs, as written.
pub(super) type Wants = Vec<(String, Place)>;

/// Resolves names to places in the list of services; says what is unknown or goes in a circle.
pub(super) fn resolve(names: &[Box<str>], wants: &[Wants], out: &mut Findings) -> Vec<Vec<u32>> {
    let numbers: HashMap<&str, u32> =
        names.iter().zip(0_u32..).map(|(name, number)| (name.as_ref(), number)).collect();
    let known: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let needs: Vec<Vec<u32>> = wants
        .iter()
        .map(|wants| {
            let mut needed = Vec::with_capacity(wants.len());
            for (name, place) in wants {
                match numbers.get(name.as_str()) {
                    Some(number) if needed.contains(number) => {
                        out.error(*place, format!("needs: `{name}` is named twice"));
                    }
                    Some(number) => needed.push(*number),
                    None => unknown(name, *place, &known, out),
                }
            }
            needed
        })
        .collect();
    for circle in circles(&needs) {
        report(&circle, names, wants, out);
    }
    needs
}

fn unknown(name: &str, place: Place, known: &[&str], out: &mut Findings) {
    // Each search looks at every name; where all are wrong, a few suggestions show why.
    let known = if out.count() < MOST_SEARCHES { known } else { &[] };
    let finding = out.error(place, format!("needs: no service is called `{name}`"));
    finding.of_absence();
    if let Some(near) = words::nearest(name, known.iter().copied()) {
        finding.label(format!("did you mean `{near}`?"));
    }
}

const MOST_SEARCHES: usize = 100;

fn report(circle: &[u32], names: &[Box<str>], wants: &[Wants], out: &mut Findings) {
    let name = |number: &u32| names.get(*number as usize).map_or("?", AsRef::as_ref);
    let (Some(first), Some(second)) = (circle.first(), circle.get(1)) else { return };
    let wants = wants.get(*first as usize).map_or(&[][..], Vec::as_slice);
    let Some((_, place)) = wants.iter().find(|(wanted, _)| wanted == name(second)) else { return };
    let circle: Vec<&str> = circle.iter().map(name).collect();
    let finding = out.error(*place, format!("needs: a circle: {}", circle.join(" -> ")));
    finding.label("none of them could ever be acted on");
}

/// Every circle that a walk along `needs` runs into, each once: its members in order, the first again at the
/// end. The walk keeps its own stack, a chain may be as long as the file.
pub(super) fn circles(needs: &[Vec<u32>]) -> Vec<Vec<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Walked,
        Done,
    }
    let mut marks = vec![Mark::New; needs.len()];
    let mut found = Vec::new();
    for start in 0..needs.len() {
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let (at, step) = (*at, *next);
            *next += 1;
            if step == 0 && marks.get(at) != Some(&Mark::New) {
                path.pop();
                continue;
            }
            if let Some(mark) = marks.get_mut(at) {
                *mark = Mark::Walked;
            }
            let Some(to) = needs.get(at).and_then(|needs| needs.get(step)) else {
                if let Some(mark) = marks.get_mut(at) {
                    *mark = Mark::Done;
                }
                path.pop();
                continue;
            };
            let to = *to as usize;
            match marks.get(to) {
                Some(Mark::New) => path.push((to, 0)),
                Some(Mark::Walked) => found.push(circle(&path, to)),
                Some(Mark::Done) | None => {}
            }
        }
    }
    found
}

/// The part of `path` that begins at `to`, closed.
fn circle(path: &[(usize, usize)], to: usize) -> Vec<u32> {
    let begin = path.iter().position(|(at, _)| *at == to).unwrap_or(0);
    let members = path.iter().skip(begin).map(|(at, _)| *at);
    members.chain([to]).filter_map(|at| u32::try_from(at).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once_with_their_members() {
        assert_eq!(circles(&[vec![1], vec![2], vec![0]]), [vec![0, 1, 2, 0]]);
        assert_eq!(circles(&[vec![0]]), [vec![0, 0]]);
        assert_eq!(circles(&[vec![1], vec![2], vec![1]]), [vec![1, 2, 1]]);
        assert_eq!(circles(&[vec![1, 2], vec![3], vec![3], vec![]]), Vec::<Vec<u32>>::new());
        assert_eq!(circles(&[vec![1], vec![0], vec![3], vec![2]]).len(), 2);
    }

    #[test]
    fn a_chain_may_be_long() {
        let chain: Vec<Vec<u32>> = (0..100_000).map(|at| vec![at + 1]).collect();
        assert_eq!(circles(&chain), Vec::<Vec<u32>>::new());
    }
}
