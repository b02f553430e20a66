use super::*;
use crate::potential::{
    FormVisitor, PairPotential, PotentialPlan, evaluate_exactly, inverse_powers, lennard_jones,
};

const WIDTH: f64 = 0.005;
const SMOOTH: Truncation = Truncation::Smooth { width: WIDTH };

fn pair(cutoff: f64) -> PairParameters {
    PairParameters::of_epsilon_and_sigma(1.0, 1.0, cutoff)
}

/// Of one form in an arithmetic, as if that had 32 bits.
fn reduced<R: Real, F: PairForm>(form: F, cutoff: f64) -> Truncated<R, F::Evaluator<R>> {
    Truncated::with_units(&form, &pair(cutoff), &SMOOTH, PairUnits::default(), true)
}

/// Distances up to the cutoff, more of them near it.
fn distances(cutoff: f64) -> impl Iterator<Item = f64> {
    (1..200_000).map(move |k| {
        let part = f64::from(k) / 200_000.0;
        cutoff - (cutoff - 0.95) * part * part
    })
}

/// Largest deviation of energy and force.
fn deviation(
    cutoff: f64,
    within: f64,
    found: impl Fn(f64) -> (f64, f64),
    expected: impl Fn(f64) -> (f64, f64),
) -> (f64, f64) {
    distances(cutoff).filter(|r| cutoff - r < within).fold((0.0, 0.0), |largest: (f64, f64), r| {
        let ((force, energy), (right_force, right_energy)) = (found(r), expected(r));
        let force_off = (force - right_force).abs() * r;
        (largest.0.max((energy - right_energy).abs()), largest.1.max(force_off))
    })
}

/// The bound of the doc comment; the force changes by it over a fraction of the width.
#[test]
fn form_without_a_root_is_near_the_exact_one() {
    let lennard_jones = reduced::<f64, _>(lennard_jones::Form, 2.5);
    let form = PairPotential::LennardJones;
    let (energy, force) = deviation(
        2.5,
        2.0,
        |r| lennard_jones.smooth_in_reduced_units(r * r),
        |r| evaluate_exactly(form, &SMOOTH, &pair(2.5), r),
    );
    assert!(energy < 2e-10 && force < 1e-7, "{energy:e} {force:e}");
    let twelve = inverse_powers::InversePowerForm::<false> { n: 12 };
    let inverse_power = reduced::<f64, _>(twelve, 1.25);
    let form = PairPotential::InversePower { n: 12 };
    let (energy, force) = deviation(
        1.25,
        2.0,
        |r| inverse_power.smooth_in_reduced_units(r * r),
        |r| evaluate_exactly(form, &SMOOTH, &pair(1.25), r),
    );
    // Deeper at its cutoff, and that is nearer.
    assert!(energy < 2e-8 && force < 1e-5, "{energy:e} {force:e}");
}

/// Energies of up to 0.03 have several roundings of 6e-8. The rounded constants of the depth move the cutoff by up to
/// 8e-8, over which the force changes by up to `5 (r_c - r) 0.04 / h^2`, 40 times as much.
#[test]
fn rounding_to_32_bits_is_small_near_the_cutoff() {
    let wide = reduced::<f64, _>(lennard_jones::Form, 2.5);
    let narrow = reduced::<f32, _>(lennard_jones::Form, 2.5);
    let rounded = |r: f64| {
        let (force, energy) = narrow.smooth_in_reduced_units((r * r) as f32);
        (f64::from(force), f64::from(energy))
    };
    let same = |r: f64| wide.smooth_in_reduced_units(f64::from((r * r) as f32));
    let (energy, force) = deviation(2.5, 0.2, rounded, same);
    assert!(energy < 1.5e-8 && force < 3e-6, "{energy:e} {force:e}");
}

#[test]
fn cutoff_is_where_the_depth_ends() {
    for cutoff in [1.0, 1.3, 2.5, 3.7] {
        let truncated = reduced::<f32, _>(lennard_jones::Form, cutoff);
        let cutoff2 = truncated.cutoff2();
        assert!((f64::from(cutoff2) / (cutoff * cutoff) - 1.0).abs() < 3e-7);
        let (_, inside) = truncated.smooth_in_reduced_units(cutoff2.next_down());
        let (_, outside) = truncated.smooth_in_reduced_units(cutoff2);
        assert!(inside.abs() < 1e-12 && outside.abs() < 1e-12, "{inside:e} {outside:e}");
    }
}

/// The first factor is below 1 inside where that is claimed, and is not where it is not.
#[test]
fn saturation_needs_a_cutoff_that_is_not_short() {
    let within = |cutoff| reduced::<f32, _>(lennard_jones::Form, cutoff).saturates_within();
    assert_eq!(within(0.3), 0.0);
    assert!(within(1.13) > 1000.0 && within(2.5) > 5000.0);
    for (ratio, cutoff2) in [(2.0, 1.0), (2.5, 1.0), (250.0, 1.0), (2.0, 6.0), (400.0, 6.0)] {
        for k in 1..100_000 {
            let d = ratio * f64::from(k) / 100_000.0;
            let rho = cutoff2 * (1.0 - d / ratio);
            assert!(d.powi(3) / (d.powi(4) + rho) < 0.7, "{ratio} {cutoff2} {d}");
        }
    }
}

/// What `check` and the reference say of the difference to the documented function is no less than it is, and not much more.
#[test]
fn change_by_smoothing_is_covered_by_what_is_said_of_it() {
    struct Taken<'a>(&'a PairParameters, &'a Truncation);

    impl FormVisitor for Taken<'_> {
        type Output = Box<dyn Fn(f64) -> f64>;

        fn visit<F: PairForm>(self, form: F) -> Self::Output {
            let Taken(pair, smooth) = self;
            let truncated: Truncated<f64, F::Evaluator<f64>> =
                Truncated::with_units(&form, pair, smooth, PairUnits::default(), true);
            Box::new(move |r| truncated.smooth_in_reduced_units(r * r).1)
        }
    }

    // A narrower one changes less than constants in 40 bits do.
    for width in [0.02, 0.05, 0.1, 0.3] {
        let smooth = Truncation::Smooth { width };
        for (form, cutoff) in [
            (PairPotential::LennardJones, 2.5),
            (PairPotential::LennardJones, 2f64.powf(1.0 / 6.0)),
            (PairPotential::InversePower { n: 12 }, 1.5),
            (PairPotential::HarmonicSpheres, 1.0),
            (PairPotential::GaussianCore, 3.0),
        ] {
            // Of another length and energy, which the figures do not depend on.
            let (epsilon, sigma) = (1.5, 0.8);
            let pair = PairParameters::of_epsilon_and_sigma(epsilon, sigma, sigma * cutoff);
            let taken = form.visit(Taken(&pair, &smooth));
            let plan = PotentialPlan {
                form,
                truncation: smooth,
                pairs: vec![vec![pair]],
                diameters: None,
            };
            let said = plan.change_by_smoothing(&pair).expect("it is smooth");
            let (mut relative, mut of_epsilon) = (0.0f64, 0.0f64);
            for k in 1..20_000 {
                let part = f64::from(k) / 20_000.0;
                let r = pair.cutoff * (1.0 - part * part);
                let documented = evaluate_exactly(form, &smooth, &pair, r).1;
                let change = (taken(r) - documented).abs();
                // Within a hundredth of a width it is rounding of what is nearly zero.
                if pair.cutoff - r > 0.01 * width * sigma {
                    relative = relative.max(change / documented.abs());
                }
                if documented.abs() <= epsilon {
                    of_epsilon = of_epsilon.max(change / epsilon);
                }
            }
            let case =
                format!("{form:?}, {cutoff}, {width}: {said:?}, {relative:e} {of_epsilon:e}");
            assert!((1.0..1.15).contains(&(said.relative / relative)), "{case}");
            // The last distance below epsilon in a steep core is not on the coarse grid.
            assert!((1.0..1.5).contains(&(said.of_epsilon / of_epsilon)), "{case}");
            let estimate = (width * sigma / pair.cutoff).powi(2) / 4.0;
            assert!(width > 0.1 || (0.9..1.4).contains(&(relative / estimate)), "{case}");
        }
    }
}

/// `c0`, `c2` and `c4` of `U(r) + c0 + c2 r^2 + c4 r^4`.
fn even_quartic(form: PairPotential, pair: &PairParameters) -> [f64; 3] {
    struct Coefficients<'a>(&'a PairParameters);

    impl FormVisitor for Coefficients<'_> {
        type Output = [f64; 3];

        fn visit<F: PairForm>(self, form: F) -> [f64; 3] {
            let truncation = Truncation::EvenQuartic;
            let truncated: Truncated<f64, F::Evaluator<f64>> =
                Truncated::new(&form, self.0, &truncation, PairUnits::default());
            let Truncated { energy_shift, end_force, end_slope, cutoff2, .. } = truncated;
            // -U_c + y F_c / 2 + y^2 F_c' / 4 with y = r^2 - r_c^2.
            [
                -energy_shift - cutoff2 * (0.5 * end_force - 0.25 * cutoff2 * end_slope),
                0.5 * end_force - 0.5 * cutoff2 * end_slope,
                0.25 * end_slope,
            ]
        }
    }

    form.visit(Coefficients(pair))
}

/// Of `a (sigma/r)^n`, with the three terms of [`Truncation::EvenQuartic`].
fn closed_rule(terms: &[(f64, u32)], sigma: f64, cutoff: f64) -> [f64; 3] {
    terms.iter().fold([0.0; 3], |[c0, c2, c4], &(a, n)| {
        let (of_n, x) = (f64::from(n), cutoff / sigma);
        let power = |k: u32| a * x.powi(-(k as i32));
        [
            c0 - (of_n + 2.0) * (of_n + 4.0) / 8.0 * power(n),
            c2 + of_n * (of_n + 4.0) / 4.0 * power(n + 2) / sigma.powi(2),
            c4 - of_n * (of_n + 2.0) / 8.0 * power(n + 4) / sigma.powi(4),
        ]
    })
}

#[test]
fn even_quartic_of_sums_of_powers_is_that_of_the_closed_rule() {
    let (epsilon, sigma) = (1.5, 0.8);
    let mie = |m, n| epsilon * inverse_powers::mie_prefactor(m, n);
    for (form, terms, cutoff) in [
        (PairPotential::LennardJones, vec![(6.0, 12), (-6.0, 6)], 2.5),
        (PairPotential::InversePower { n: 12 }, vec![(epsilon, 12)], 1.25),
        (PairPotential::InversePower { n: 9 }, vec![(epsilon, 9)], 1.5),
        (PairPotential::Mie { m: 11, n: 7 }, vec![(mie(11, 7), 11), (-mie(11, 7), 7)], 2.2),
    ] {
        let pair = PairParameters::of_epsilon_and_sigma(epsilon, sigma, cutoff * sigma);
        let (found, expected) =
            (even_quartic(form, &pair), closed_rule(&terms, sigma, cutoff * sigma));
        // Rounding of the largest term, which the attraction hardly diminishes.
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-14, "{form:?}: {found} {expected}");
        }
    }
}

/// Inside `4 epsilon [...]` for Lennard-Jones, and of `(sigma/r)^12` cut at 1.25 as published for polydisperse spheres.
#[test]
fn even_quartic_has_the_published_coefficients() {
    for (form, amplitude, cutoff, expected) in [
        (
            PairPotential::LennardJones,
            4.0,
            2.5,
            [0.040490237952, -0.00970155098112, 0.0006201261686784],
        ),
        (
            PairPotential::InversePower { n: 12 },
            1.0,
            1.25,
            [-1.924145348608, 2.11106232532992, -0.5910974510923775],
        ),
    ] {
        let found = even_quartic(form, &pair(cutoff));
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found / amplitude / expected - 1.0).abs() < 1e-14, "{found} {expected}");
        }
    }
}

/// The pair loop against the polynomial, in 64 and 32 bits; value, force and its derivative end at zero.
#[test]
fn even_quartic_is_the_polynomial_and_ends_smoothly() {
    for form in [
        PairPotential::LennardJones,
        PairPotential::InversePower { n: 12 },
        PairPotential::Yukawa,
        PairPotential::GaussianCore,
        PairPotential::HarmonicSpheres,
    ] {
        let cutoff = if form == PairPotential::HarmonicSpheres { 0.9 } else { 2.0 };
        let pair = pair(cutoff).with(&crate::potential::KAPPA, 1.5);
        let [c0, c2, c4] = even_quartic(form, &pair);
        let bare = |r: f64| evaluate_exactly(form, &Truncation::Sharp, &pair, r);
        let found = |r: f64| evaluate_exactly(form, &Truncation::EvenQuartic, &pair, r);
        for k in 1..200 {
            let r = cutoff * (0.4 + 0.6 * f64::from(k) / 200.0);
            let ((bare_force, bare_energy), r2) = (bare(r), r * r);
            let energy = bare_energy + c0 + c2 * r2 + c4 * r2 * r2;
            let force = bare_force - 2.0 * c2 - 4.0 * c4 * r2;
            let scale = |x: f64| 1e-13 * (1.0 + x.abs());
            let of_loop = found(r);
            assert!(
                (of_loop.0 - force).abs() < scale(bare_force),
                "{form:?} {r}: force {of_loop:?}"
            );
            assert!((of_loop.1 - energy).abs() < scale(bare_energy), "{form:?} {r}: {of_loop:?}");
        }
        // Of third order: what is left at a distance d of the cutoff falls by 1000 in the energy, 100 in the force.
        let (near, nearer) = (found(cutoff - 1e-2), found(cutoff - 1e-3));
        let ratios = (near.0 / nearer.0, near.1 / nearer.1);
        assert!((ratios.0 - 100.0).abs() < 15.0 && (ratios.1 - 1000.0).abs() < 150.0, "{ratios:?}");
    }
}

/// In 32 bits what is left near the cutoff is rounding of the bare potential, a few units of 6e-8 of it.
#[test]
fn even_quartic_in_32_bits_is_near_that_in_64() {
    let form = lennard_jones::Form;
    let truncated: Truncated<f32, _> =
        Truncated::new(&form, &pair(2.5), &Truncation::EvenQuartic, PairUnits::default());
    let (energy, force) = deviation(
        2.5,
        1.0,
        |r| {
            let (force, energy) =
                truncated.evaluate_as(TruncationKind::EvenQuartic, (r * r) as f32);
            (f64::from(force), f64::from(energy))
        },
        |r| {
            let r = f64::from((r * r) as f32).sqrt();
            evaluate_exactly(PairPotential::LennardJones, &Truncation::EvenQuartic, &pair(2.5), r)
        },
    );
    assert!(energy < 1e-7 && force < 1e-6, "{energy:e} {force:e}");
}
