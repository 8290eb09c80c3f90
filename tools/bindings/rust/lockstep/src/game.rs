//! A game that is written in Rust: its state by `state!`, its step by the trait `Game`.

use crate::sys;
use std::ffi::CString;
use std::mem::{align_of, size_of};
use std::os::raw::c_void;

/// Where a member of a state lies: `count` items, `stride` bytes apart.
#[doc(hidden)]
#[derive(Clone)]
pub struct Place {
    pub path: String,
    pub unit: &'static str,
    pub offset: usize,
    pub count: u32,
    pub stride: usize,
}

/// A named place of a number; of padding the type is 0.
#[doc(hidden)]
pub struct Row(Place, u32, u32);

/// What a state may be made of: numbers, arrays of them, structs of `state!`, and arrays of those.
///
/// # Safety
/// Every pattern of bits is a value, and `add` names every byte once.
pub unsafe trait Part: Copy + 'static {
    #[doc(hidden)]
    fn add(place: Place, length: usize, rows: &mut Vec<Row>);
}

/// 2^-32 of a unit each.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Fixed(pub i64);

/// 2^-32 of a turn each.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Angle(pub u32);

macro_rules! numbers {
    ($($kind:ty = $number:ident,)*) => {$(
        unsafe impl Part for $kind {
            fn add(place: Place, length: usize, rows: &mut Vec<Row>) {
                rows.push(Row(place, sys::$number as u32, length as u32));
            }
        }
    )*};
}
numbers! {
    u8 = LOCKSTEP_U8, u16 = LOCKSTEP_U16, u32 = LOCKSTEP_U32, u64 = LOCKSTEP_U64,
    i8 = LOCKSTEP_I8, i16 = LOCKSTEP_I16, i32 = LOCKSTEP_I32, i64 = LOCKSTEP_I64,
    f32 = LOCKSTEP_F32, f64 = LOCKSTEP_F64, Fixed = LOCKSTEP_FIXED, Angle = LOCKSTEP_ANGLE,
}

unsafe impl<T: Part, const N: usize> Part for [T; N] {
    fn add(place: Place, length: usize, rows: &mut Vec<Row>) {
        assert!(length == 1, "{}: a state has arrays inside one array at most", place.path);
        T::add(place, N, rows);
    }
}

/// The members of a struct of `state!` in their order, as #[repr(C)] lays them out.
#[doc(hidden)]
pub struct Members<'a> {
    place: Place,
    end: usize,
    rows: &'a mut Vec<Row>,
}

impl<'a> Members<'a> {
    pub fn of<S>(place: Place, length: usize, rows: &'a mut Vec<Row>) -> Self {
        let mut place = place;
        if length > 1 {
            assert!(place.count == 1, "{}: a state has arrays of structs once", place.path);
            place.count = length as u32;
            place.stride = size_of::<S>();
        }
        Members { place, end: 0, rows }
    }

    fn inner(&self, name: &str, at: usize, unit: &'static str) -> Place {
        let dot = if self.place.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.place.path);
        Place { path, unit, offset: self.place.offset + at, ..self.place }
    }

    fn pad(&mut self, name: &str, to: usize) {
        if to > self.end {
            let place = self.inner(&format!("{name}_padding"), self.end, "");
            self.rows.push(Row(place, 0, (to - self.end) as u32));
        }
    }

    pub fn member<T: Part>(&mut self, name: &str, unit: &'static str) {
        let at = (self.end + align_of::<T>() - 1) / align_of::<T>() * align_of::<T>();
        self.pad(name, at);
        T::add(self.inner(name, at, unit), 1, self.rows);
        self.end = at + size_of::<T>();
    }

    pub fn finish<S>(&mut self) {
        self.pad("end", size_of::<S>());
    }
}

/// Structs of a state, with the unit of each member where it has one:
/// `state! { pub struct Ship { place: i32 = "mm", hull: u8 } }`.
#[macro_export]
macro_rules! state {
    ($($(#[$about:meta])* $seen:vis struct $name:ident {
        $($shown:vis $member:ident : $kind:ty $(= $unit:literal)?),* $(,)?
    })*) => {$(
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        $seen struct $name {
            $($shown $member: $kind,)*
        }
        unsafe impl $crate::Part for $name {
            fn add(place: $crate::Place, length: usize, rows: &mut Vec<$crate::Row>) {
                let mut members = $crate::Members::of::<Self>(place, length, rows);
                $(members.member::<$kind>(stringify!($member), concat!("", $($unit)?));)*
                members.finish::<Self>();
            }
        }
    )*};
}

/// One player's part of a tick.
#[repr(transparent)]
pub struct Slot(sys::lockstep_slot);

impl Slot {
    /// Any bytes, from any machine; none while nobody plays there.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self.0.size {
            0 => &[],
            size => unsafe { std::slice::from_raw_parts(self.0.bytes, size as usize) },
        }
    }

    /// The first byte; 0 where there is none.
    #[inline]
    pub fn byte(&self) -> u8 {
        self.bytes().first().copied().unwrap_or(0)
    }

    pub fn has_joined(&self) -> bool {
        self.0.events & sys::LOCKSTEP_JOINED != 0
    }

    pub fn has_left(&self) -> bool {
        self.0.events & sys::LOCKSTEP_LEFT != 0
    }
}

/// All players' parts of a tick.
pub struct Inputs<'a> {
    pub setup: &'a sys::lockstep_setup,
    pub slots: &'a [Slot],
    pub tick: u32,
}

/// A game: a state, and a step that depends on the state and the inputs alone. No clock, no
/// addresses, no HashMap whose order counts; integers where machines of several kinds play.
pub trait Game: Part {
    const NAME: &'static str;
    const VERSION: u32 = 1;
    const TICK_RATE_HZ: u32 = 60;
    const PLAYERS_MAX: u32;
    const INPUT_BYTES: u32 = 1;
    /// Masks of an input's bits, for inputs that come too late: see lockstep.h.
    const EDGES: &'static [u8] = &[];
    const BUTTONS: &'static [u8] = &[];

    /// The state comes zeroed.
    fn init(&mut self, _setup: &crate::Setup) {}
    fn step(&mut self, inputs: &Inputs);
}

unsafe extern "C" fn init<G: Game>(_: *mut c_void, state: *mut c_void, setup: *const sys::lockstep_setup) {
    (*(state as *mut G)).init(&*setup);
}

unsafe extern "C" fn step<G: Game>(_: *mut c_void, state: *mut c_void, inputs: *const sys::lockstep_inputs) {
    let inputs = &*inputs;
    let setup = &*inputs.setup;
    let slots = std::slice::from_raw_parts(inputs.slots as *const Slot, setup.players as usize);
    (*(state as *mut G)).step(&Inputs { setup, slots, tick: inputs.tick });
}

/// What the library is handed of a game, and what that points to.
pub struct Table {
    pub(crate) game: sys::lockstep_game,
    _fields: Vec<sys::lockstep_field>,
    _texts: Vec<CString>,
    _masks: [Vec<u8>; 2],
}

/// The game `G`, to host it, to play it or to step it.
pub fn own<G: Game>() -> Box<Table> {
    let mut rows = Vec::new();
    let whole = Place { path: String::new(), unit: "", offset: 0, count: 1, stride: 0 };
    G::add(whole, 1, &mut rows);
    let mut texts = vec![CString::new(G::NAME).expect("a name without NUL")];
    let mut fields = Vec::new();
    for Row(place, type_, length) in rows {
        let (path, unit) = (CString::new(place.path).unwrap(), CString::new(place.unit).unwrap());
        texts.extend([path, unit]); // which stay where they are
        let [path, unit] = [2, 1].map(|back| texts[texts.len() - back].as_ptr());
        let (offset, count, stride) = (place.offset, place.count, place.stride);
        fields.push(sys::lockstep_field { path, unit, type_, length, count, offset, stride });
    }
    let masks = [G::EDGES, G::BUTTONS].map(|bits| {
        assert!(bits.len() <= G::INPUT_BYTES as usize, "a mask is longer than an input");
        let mut mask = bits.to_vec();
        mask.resize(G::INPUT_BYTES as usize, 0);
        mask
    });
    let game = sys::lockstep_game {
        size: size_of::<sys::lockstep_game>(),
        name: texts[0].as_ptr(),
        version: G::VERSION,
        tick_rate_hz: G::TICK_RATE_HZ,
        players_max: G::PLAYERS_MAX,
        input_bytes: G::INPUT_BYTES,
        state_bytes: size_of::<G>(),
        fields: fields.as_ptr(),
        field_count: fields.len(),
        init: Some(init::<G>),
        step: Some(step::<G>),
        user: std::ptr::null_mut(),
        edges: masks[0].as_ptr(),
        buttons: masks[1].as_ptr(),
        names_writes: 0,
    };
    Box::new(Table { game, _fields: fields, _texts: texts, _masks: masks })
}

/// What `plugin!` exports.
#[doc(hidden)]
pub fn leaked<G: Game>() -> *const sys::lockstep_game {
    &Box::leak(own::<G>()).game
}

/// Makes a plug-in of a cdylib: programs play the game by its file, lockstep-synctest tests it.
#[macro_export]
macro_rules! plugin {
    ($game:ty) => {
        #[no_mangle]
        pub extern "C" fn lockstep_plugin() -> *const $crate::sys::lockstep_game {
            $crate::leaked::<$game>()
        }
    };
}
