//! The distance of neighbors that is taken where none is given.
mod common;

use common::job::{Job, kob_andersen};

const STAGES: &str = r#"
[[stage]]
name = "melt"
steps = 1000
thermostat = { kind = "langevin", temperature = 2.0, friction = 2.0 }

[[stage]]
name = "liquid"
steps = 2000
thermostat = { kind = "langevin", temperature = 0.8, friction = 2.0 }

[[stage]]
name = "measured"
steps = 1000
[stage.observe]
structure = { every = 50, bin_width = 0.05, maximum_wavenumber = 3.0 }
bond_order = { every = 1000 }
[[stage.correlation]]
every = 100
observables = ["cage-relative-mean-square-displacement"]
"#;

fn one_species(text: &str) -> String {
    text.replace(
        r#"{ name = "A", count = 400 }, { name = "B", count = 100 }"#,
        r#"{ name = "A", count = 500 }"#,
    )
    .replace("AB = { epsilon = 1.5, sigma = 0.8 }", "")
    .replace("BB = { epsilon = 0.5, sigma = 0.88 }", "")
    .replace("density = 1.2", "density = 0.8442")
}

#[test]
fn the_default_is_at_the_first_minimum_of_the_pair_distribution_of_liquids() {
    let run = "timestep = 0.004\nthreads = 2";
    let three = kob_andersen(3, 500, "double", run);
    for (name, text, dimension) in [
        ("KA 3D", three.clone(), 3),
        ("KA 2D", kob_andersen(2, 400, "double", run), 2),
        ("LJ near the triple point", one_species(&three), 3),
    ] {
        let job = Job::new(&(text + STAGES));
        job.succeeds(&["run", "job.toml"]);
        let results = job.results("measured");
        let plan = results.plan().unwrap();
        let stage = &plan["stages"][2];
        let radius = stage["observe"]["bond_order"]["radius"].as_f64().unwrap();
        assert_eq!(stage["correlations"][0]["cage_radius"], radius, "one default for both");

        let counts: Vec<f64> = results.species().iter().map(|(_, count)| *count as f64).collect();
        let total: f64 = counts.iter().sum();
        let species: Vec<String> = results.species().into_iter().map(|(name, _)| name).collect();
        let functions = results.structure().unwrap();
        let (mut distance, mut g) = (Vec::new(), Vec::new());
        for (a, first) in species.iter().enumerate() {
            for (b, second) in species.iter().enumerate().skip(a) {
                let pair = format!("{first}{second}");
                let of_pair = functions.iter().find(|function| {
                    function.name == "pair_distribution" && function.group == pair
                });
                let function = of_pair.unwrap();
                let weight =
                    counts[a] * counts[b] / (total * total) * if a == b { 1.0 } else { 2.0 };
                g.resize(function.x.len(), 0.0);
                for (g, value) in g.iter_mut().zip(&function.curves[0].value) {
                    *g += weight * value;
                }
                distance = function.x.clone();
            }
        }
        // Between the first and the second peak.
        let spacing = radius / 1.45;
        let between = |k: &usize| (1.1 * spacing..1.9 * spacing).contains(&distance[*k]);
        let lowest = (0..g.len()).filter(between).min_by(|&a, &b| g[a].total_cmp(&g[b])).unwrap();
        let minimum = distance[lowest];
        println!("{name} ({dimension}D): minimum {minimum}, default {radius}");
        assert!(
            (radius / minimum - 1.0).abs() < 0.1,
            "{name}: minimum {minimum}, default {radius}"
        );
    }
}
