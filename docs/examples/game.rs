//! The game of game.c in Rust. It plays with those of the other languages, with equal hashes.
//! usage: ships PLAYERS TICKS hosts, ships INVITE plays. As a cdylib it is a plug-in.
use lockstep::{own, Client, Game, Host, Inputs};

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const JUMP: u8 = 4;

lockstep::state! {
    pub struct Ship {
        place: i32 = "mm",
        speed: i32 = "mm/tick",
    }
    pub struct Ships {
        ships: [Ship; 4],
    }
}

impl Game for Ships {
    const NAME: &'static str = "ships";
    const PLAYERS_MAX: u32 = 4;
    const EDGES: &'static [u8] = &[JUMP];
    const BUTTONS: &'static [u8] = &[LEFT | RIGHT];

    fn step(&mut self, inputs: &Inputs) {
        for (ship, slot) in self.ships.iter_mut().zip(inputs.slots) {
            let keys = slot.byte();
            ship.speed += (keys & RIGHT != 0) as i32 - (keys & LEFT != 0) as i32;
            ship.place += ship.speed + if keys & JUMP != 0 { 1000 } else { 0 };
        }
    }
}

lockstep::plugin!(Ships);

fn host(players: &str, ticks: &str) -> lockstep::Result<()> {
    let mut host = Host::new(own::<Ships>(), &[("players", players), ("ticks", ticks)])?;
    println!("{}", host.info().invite());
    let mut goes_on = true;
    while goes_on {
        goes_on = host.frame(16)?;
        while let Some(event) = host.poll() {
            println!("{}", event.text);
        }
    }
    Ok(())
}

fn play(invite: &str) -> lockstep::Result<()> {
    let mut client = Client::new(own::<Ships>(), &[("server", invite)])?;
    let mut held = 0;
    let mut goes_on = true;
    while goes_on {
        goes_on = client.frame(16)?;
        if let Some(view) = client.view() {
            // Draw the ships here, view.alpha of the way between the two of view.of::<Ships>().
            let keys = if view.tick / 60 % 2 != 0 { LEFT } else { RIGHT };
            if keys != held {
                client.input_once(&[keys | JUMP])?; // in one tick
            }
            client.input(&[keys])?; // from now on
            held = keys;
        }
        while let Some(event) = client.poll() {
            println!("{}", event.text);
        }
    }
    if let Some(view) = client.view() {
        let (_, state) = view.of::<Ships>();
        println!("tick {}: the first ship is at {} mm", view.tick, state.ships[0].place);
    }
    Ok(())
}

pub fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let result = match &arguments[1..] {
        [players, ticks] => host(players, ticks),
        [invite] => play(invite),
        _ => return println!("usage: ships PLAYERS TICKS | ships INVITE"),
    };
    if let Err(error) = result {
        println!("{error}");
        std::process::exit(1);
    }
}
