#[path = "../../../../../docs/examples/game.rs"]
mod game;

use lockstep::{own, Simulation, Source};

/// What tests/liblockstep/step_rate.c does: `rate NAME|ships STEPS`.
fn rate(name: &str, steps: u32) -> lockstep::Result<()> {
    let source = if name == "ships" { own::<game::Ships>().into() } else { Source::from(name) };
    let mut sim = Simulation::new(source, &[])?;
    let mut inputs = vec![0; (sim.info().players * sim.info().input_bytes) as usize];
    let start = std::time::Instant::now();
    for i in 0..steps {
        inputs[0] = (i & 3) as u8;
        sim.step(&inputs)?;
    }
    let ns = start.elapsed().as_nanos() as f64 / f64::from(steps);
    println!("{ns:.1} ns a step, hash {:016x}", sim.hash());
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [word, name, steps] if word == "rate" => rate(name, steps.parse().unwrap()).unwrap(),
        _ => game::main(),
    }
}
