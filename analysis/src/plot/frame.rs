//! The inner rectangle of a panel: places of points, and what of lines and areas lies inside.
use super::axis::Axis;
use super::canvas::Place;

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    /// Place of a point, which may lie outside. What a logarithmic axis does not show lies far below.
    pub fn at(&self, x_axis: &Axis, y_axis: &Axis, x: f64, y: f64) -> Place {
        // Far, and still a number to divide by.
        let place =
            |fraction: f64| if fraction.is_nan() { -99.0 } else { fraction.clamp(-99.0, 99.0) };
        (
            self.left + place(x_axis.fraction(x)) * (self.right - self.left),
            self.bottom - place(y_axis.fraction(y)) * (self.bottom - self.top),
        )
    }

    /// Whether a place is inside, or on the edge.
    pub fn contains(&self, (x, y): Place) -> bool {
        // Rounding must not lose the last point of a curve.
        let margin = 1e-6;
        (self.left - margin..=self.right + margin).contains(&x)
            && (self.top - margin..=self.bottom + margin).contains(&y)
    }

    /// The parts of a line that lie inside.
    pub fn parts_of_line(&self, points: &[Place]) -> Vec<Vec<Place>> {
        let mut parts: Vec<Vec<Place>> = Vec::new();
        for pair in points.windows(2) {
            let Some((from, to)) = self.part_of_segment(pair[0], pair[1]) else { continue };
            match parts.last_mut() {
                Some(part) if part.last() == Some(&from) => part.push(to),
                _ => parts.push(vec![from, to]),
            }
        }
        parts
    }

    /// Liang and Barsky, ACM Trans. Graph. 3, 1 (1984).
    fn part_of_segment(&self, from: Place, to: Place) -> Option<(Place, Place)> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let edges = [
            (-dx, from.0 - self.left),
            (dx, self.right - from.0),
            (-dy, from.1 - self.top),
            (dy, self.bottom - from.1),
        ];
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        for (towards, distance) in edges {
            if towards == 0.0 {
                if distance < 0.0 {
                    return None;
                }
            } else if towards < 0.0 {
                enters = enters.max(distance / towards);
            } else {
                leaves = leaves.min(distance / towards);
            }
        }
        let point = |share: f64| match share {
            0.0 => from,
            1.0 => to,
            share => (from.0 + share * dx, from.1 + share * dy),
        };
        (enters <= leaves).then(|| (point(enters), point(leaves)))
    }

    /// The part of a polygon that lies inside: cut at one edge after the other (Sutherland and Hodgman, Commun. ACM 17, 32, 1974).
    pub fn part_of_polygon(&self, outline: Vec<Place>) -> Vec<Place> {
        // Distance into the inside of each edge.
        let edges: [&dyn Fn(Place) -> f64; 4] = [
            &|(x, _)| x - self.left,
            &|(x, _)| self.right - x,
            &|(_, y)| y - self.top,
            &|(_, y)| self.bottom - y,
        ];
        edges.into_iter().fold(outline, |outline, depth| {
            let mut cut = Vec::new();
            for (index, &to) in outline.iter().enumerate() {
                let from = outline[(index + outline.len() - 1) % outline.len()];
                let (before, here) = (depth(from), depth(to));
                if (before < 0.0) != (here < 0.0) {
                    let share = before / (before - here);
                    cut.push((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
                }
                if here >= 0.0 {
                    cut.push(to);
                }
            }
            cut
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { left: 0.0, right: 10.0, top: 0.0, bottom: 10.0 };

    #[test]
    fn lines_end_at_the_frame_and_come_back() {
        let inside = [(0.0, 5.0), (4.0, 6.0), (10.0, 10.0)];
        assert_eq!(FRAME.parts_of_line(&inside), [inside.to_vec()]);
        let through = FRAME.parts_of_line(&[(-5.0, 5.0), (5.0, 5.0), (5.0, 20.0), (15.0, 5.0)]);
        assert_eq!(through, [vec![(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)]]);
        let twice = FRAME.parts_of_line(&[(2.0, 5.0), (2.0, 15.0), (8.0, 15.0), (8.0, 5.0)]);
        assert_eq!(twice, [vec![(2.0, 5.0), (2.0, 10.0)], vec![(8.0, 10.0), (8.0, 5.0)]]);
        assert!(FRAME.parts_of_line(&[(-1.0, -1.0), (-1.0, 11.0)]).is_empty());
    }

    #[test]
    fn areas_are_cut_at_the_frame() {
        let area = |outline: &[Place]| {
            let next = |k: usize| outline[(k + 1) % outline.len()];
            let twice = |k: usize| outline[k].0 * next(k).1 - next(k).0 * outline[k].1;
            0.5 * (0..outline.len()).map(twice).sum::<f64>().abs()
        };
        let square = |side: f64| vec![(5.0, 5.0), (side, 5.0), (side, side), (5.0, side)];
        assert_eq!(area(&FRAME.part_of_polygon(square(8.0))), 9.0);
        assert_eq!(area(&FRAME.part_of_polygon(square(1e4))), 25.0);
        assert!(FRAME.part_of_polygon(vec![(11.0, 0.0), (12.0, 0.0), (12.0, 5.0)]).is_empty());
    }
}
