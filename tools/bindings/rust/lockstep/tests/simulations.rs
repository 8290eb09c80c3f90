use lockstep::{own, sys, Angle, Batch, Fixed, Game, Inputs, Simulation};

lockstep::state! {
    pub struct Inner { a: u8, b: i64 }
    pub struct Every {
        small: u8,
        wide: i64 = "m",
        half: [u16; 3],
        single: f32,
        double: f64,
        fixed: Fixed,
        angle: Angle,
        inner: Inner,
        many: [Inner; 2],
        last: i8,
    }
}

impl Game for Every {
    const NAME: &'static str = "every";
    const PLAYERS_MAX: u32 = 2;

    fn init(&mut self, setup: &sys::lockstep_setup) {
        self.wide = setup.seed as i64;
    }

    fn step(&mut self, inputs: &Inputs) {
        self.many[1].b += i64::from(inputs.slots[0].byte());
        self.last += inputs.slots.iter().filter(|slot| slot.has_joined()).count() as i8;
    }
}

#[test]
fn struct_of_every_type_covers_its_state() {
    let mut sim = Simulation::new(own::<Every>(), &[("seed", "9")]).unwrap();
    sim.step(&[7, 0]).unwrap();
    sim.step(&[5, 0]).unwrap();
    let (before, now) = {
        let view = sim.view().unwrap();
        let (_, now) = view.of::<Every>();
        (now.wide, (now.many[0].b, now.many[1].b, now.last))
    };
    assert_eq!((before, now), (9, (0, 12, 2)));
    let fields: Vec<_> = (0..).map_while(|i| sim.field(i)).collect();
    let paths: Vec<_> = fields.iter().map(|field| field.path).collect();
    assert_eq!(&paths[..4], ["small", "wide_padding", "wide", "half"]);
    assert_eq!(paths.last(), Some(&"end_padding"));
    let b = fields.iter().find(|field| field.path == "many.b").unwrap();
    assert_eq!((b.count, b.stride, b.type_), (2, 16, sys::LOCKSTEP_I64 as u32));
}

#[test]
fn saved_state_leads_to_the_same_hash_again() {
    let mut sim = Simulation::new("arena", &[("players", "2")]).unwrap();
    let first = sim.hash();
    let inputs = vec![1; 2 * sim.info().input_bytes as usize];
    sim.step(&inputs).unwrap();
    let saved = sim.save().unwrap();
    sim.step(&inputs).unwrap();
    let then = sim.hash();
    sim.load(&saved, 1).unwrap();
    assert_ne!(sim.hash(), then);
    sim.step(&inputs).unwrap();
    assert_eq!((sim.hash(), sim.info().tick), (then, 2));
    let error = sim.load(&saved[1..], 1).unwrap_err();
    assert_eq!(error.status, sys::LOCKSTEP_MALFORMED);
    sim.rewind().unwrap();
    assert_eq!(sim.hash(), first);
    sim.check_steps(30).unwrap();
}

#[test]
fn batch_steps_each_as_by_itself() {
    let open = |seed: u32| {
        Simulation::new("arena", &[("players", "1"), ("seed", &seed.to_string())]).unwrap()
    };
    let size = open(0).info().input_bytes as usize;
    let mut batch = Batch::from(vec![open(0), open(1)]);
    let mut alone = open(1);
    for tick in 0..30 {
        batch.step(&[vec![0; size], vec![tick; size]].concat()).unwrap();
        alone.step(&vec![tick; size]).unwrap();
    }
    assert_eq!(batch.sims[1].hash(), alone.hash());
    assert_ne!(batch.sims[0].hash(), alone.hash());
}

#[test]
fn misuse_gives_status_and_sentence() {
    let refused = |result: lockstep::Result<Simulation>| {
        let error = result.err().unwrap();
        (error.status, error.to_string())
    };
    let (status, text) = refused(Simulation::new("no-such", &[]));
    assert!(status == sys::LOCKSTEP_NOT_FOUND && text.contains("arena"), "{text}");
    let (status, text) = refused(Simulation::new("arena", &[("playes", "2")]));
    assert!(status == sys::LOCKSTEP_NOT_FOUND && text.contains("playes"), "{text}");
    let mut sim = Simulation::new("arena", &[]).unwrap();
    assert_eq!(sim.step(&[]).unwrap_err().status, sys::LOCKSTEP_BAD_ARGUMENT);
}
