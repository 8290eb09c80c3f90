//! Networked deterministic games over liblockstep: hosts, clients and simulations.
//! docs/rust.md is the page for those who use it.

mod game;

pub use game::{leaked, own, Angle, Fixed, Game, Inputs, Members, Part, Place, Row, Slot, Table};
pub use lockstep_sys as sys;
pub use lockstep_sys::lockstep_setup as Setup;

use std::ffi::{CStr, CString};
use std::mem::{align_of, size_of};
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_char, c_int};
use std::ptr::null;

/// A negative lockstep_status, and the sentence for a person.
#[derive(Clone, Debug)]
pub struct Error {
    pub status: i32,
    pub sentence: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let name = text_of(unsafe { sys::lockstep_status_name(self.status) });
        write!(out, "{} ({name})", self.sentence)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

fn text_of<'a>(text: *const c_char) -> &'a str {
    match text.is_null() {
        true => "",
        false => unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("(not UTF-8)"),
    }
}

/// A text of the caller's; what a C text cannot hold ends it.
fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or("")).unwrap()
}

/// What a handle plays: `own::<G>()`, a built-in's name or a plug-in's file, or `()`: of a client,
/// the built-in that its host plays.
pub enum Source {
    Own(Box<Table>),
    Named(String),
    Unnamed,
}

impl From<Box<Table>> for Source {
    fn from(table: Box<Table>) -> Self {
        Source::Own(table)
    }
}

impl From<&str> for Source {
    fn from(name: &str) -> Self {
        Source::Named(name.to_string())
    }
}

impl From<()> for Source {
    fn from(_: ()) -> Self {
        Source::Unnamed
    }
}

/// What `Host`, `Client` and `Simulation` have in common.
pub struct Handle {
    raw: *mut sys::lockstep,
    _table: Option<Box<Table>>, // of which the library has the address until it is closed
    input_bytes: usize,         // of a step of a simulation: all its slots
}

unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        if unsafe { sys::lockstep_close(self.raw) } < 0 {
            std::mem::forget(self._table.take()); // within a step of its own, which goes on
        }
    }
}

/// Something that has happened.
pub struct Event<'a> {
    pub kind: i32, // LOCKSTEP_CONNECTED and so on
    pub status: i32,
    pub slot: u32,
    pub tick: u32,
    pub text: &'a str,
}

/// lockstep_info, whose texts are `sim()` and `invite()`.
pub struct Info<'a>(sys::lockstep_info, std::marker::PhantomData<&'a Handle>);

impl Deref for Info<'_> {
    type Target = sys::lockstep_info;
    fn deref(&self) -> &sys::lockstep_info {
        &self.0
    }
}

impl<'a> Info<'a> {
    pub fn sim(&self) -> &'a str {
        text_of(self.0.sim)
    }

    pub fn invite(&self) -> &'a str {
        text_of(self.0.invite)
    }
}

/// Two states, and how far between them a picture is.
pub struct View<'a> {
    pub previous: &'a [u8],
    pub state: &'a [u8],
    pub tick: u32,
    pub alpha: f64,
}

impl<'a> View<'a> {
    /// Both as the struct of the game, `previous` first. Panics where the sizes differ.
    pub fn of<G: Game>(&self) -> (&'a G, &'a G) {
        let cast = |bytes: &'a [u8]| {
            assert_eq!(bytes.len(), size_of::<G>(), "this is the state of another game");
            assert_eq!(bytes.as_ptr() as usize % align_of::<G>(), 0);
            unsafe { &*(bytes.as_ptr() as *const G) } // of a Part every pattern of bits is a value
        };
        (cast(self.previous), cast(self.state))
    }
}

/// Where a field of the state lies.
pub struct Field<'a> {
    pub path: &'a str,
    pub unit: &'a str,
    pub type_: u32,
    pub length: u32,
    pub count: u32,
    pub offset: usize,
    pub stride: usize,
}

impl Handle {
    fn open(kind: i32, source: Source, settings: &[(&str, &str)]) -> Result<Handle> {
        let game = match &source {
            Source::Own(table) => &table.game as *const _,
            _ => null(),
        };
        let raw = unsafe { sys::lockstep_create(kind, game) };
        let mut handle = Handle { raw, _table: None, input_bytes: 0 };
        match source {
            Source::Own(table) => handle._table = Some(table),
            Source::Named(name) => handle.set("sim", &name)?,
            Source::Unnamed => {}
        }
        for (name, value) in settings {
            handle.set(name, value)?;
        }
        handle.check(unsafe { sys::lockstep_start(raw) })?;
        let info = handle.info();
        handle.input_bytes = info.players as usize * info.input_bytes as usize;
        Ok(handle)
    }

    #[inline]
    fn check(&self, result: c_int) -> Result<c_int> {
        if result >= 0 {
            return Ok(result);
        }
        let sentence = text_of(unsafe { sys::lockstep_error(self.raw) }).to_string();
        Err(Error { status: result, sentence })
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let (name, value) = (c_text(name), c_text(value));
        self.check(unsafe { sys::lockstep_set(self.raw, name.as_ptr(), value.as_ptr()) })?;
        Ok(())
    }

    /// Works for up to `wait_ms`; false once it is over.
    pub fn frame(&mut self, wait_ms: u32) -> Result<bool> {
        Ok(self.check(unsafe { sys::lockstep_frame(self.raw, wait_ms) })? > 0)
    }

    /// The oldest event that was not polled.
    pub fn poll(&mut self) -> Option<Event<'_>> {
        let mut event: sys::lockstep_event = unsafe { std::mem::zeroed() };
        event.size = size_of::<sys::lockstep_event>();
        if unsafe { sys::lockstep_poll(self.raw, &mut event) } <= 0 {
            return None;
        }
        let sys::lockstep_event { kind, status, slot, tick, .. } = event;
        Some(Event { kind, status, slot, tick, text: text_of(event.text) })
    }

    pub fn info(&self) -> Info<'_> {
        let mut info: sys::lockstep_info = unsafe { std::mem::zeroed() };
        info.size = size_of::<sys::lockstep_info>();
        unsafe { sys::lockstep_get_info(self.raw, &mut info) };
        Info(info, std::marker::PhantomData)
    }

    /// None: there is no state yet, or the engine hides it.
    pub fn view(&mut self) -> Option<View<'_>> {
        let mut view: sys::lockstep_view = unsafe { std::mem::zeroed() };
        view.size = size_of::<sys::lockstep_view>();
        if unsafe { sys::lockstep_get_view(self.raw, &mut view) } < 0 {
            return None;
        }
        let bytes = |state| unsafe {
            std::slice::from_raw_parts(state as *const u8, view.state_bytes)
        };
        let (previous, state) = (bytes(view.previous), bytes(view.state));
        Some(View { previous, state, tick: view.tick, alpha: view.alpha })
    }

    /// Field `number` of the state; None behind the last.
    pub fn field(&self, number: u32) -> Option<Field<'_>> {
        let mut field: sys::lockstep_field = unsafe { std::mem::zeroed() };
        if unsafe { sys::lockstep_find_field(self.raw, null(), number, &mut field) } < 0 {
            return None;
        }
        let sys::lockstep_field { type_, length, count, offset, stride, .. } = field;
        let (path, unit) = (text_of(field.path), text_of(field.unit));
        Some(Field { path, unit, type_, length, count, offset, stride })
    }

    /// The hash by which machines compare the state; of a client its newest confirmed one.
    pub fn hash(&self) -> u64 {
        unsafe { sys::lockstep_hash(self.raw) }
    }

    /// Says something to everybody in the match.
    pub fn say(&mut self, text: &str) -> Result<()> {
        self.check(unsafe { sys::lockstep_say(self.raw, c_text(text).as_ptr()) }).map(drop)
    }

    /// Client: leaves. Host: ends the match; with `saves` it can go on another time.
    pub fn end(&mut self, saves: bool) -> Result<()> {
        self.check(unsafe { sys::lockstep_end(self.raw, saves.into()) }).map(drop)
    }
}

macro_rules! handles {
    ($($(#[$about:meta])* $name:ident($kind:ident),)*) => {$(
        $(#[$about])*
        #[repr(transparent)]
        pub struct $name(Handle);

        impl $name {
            /// Settings are flags of the programs by their names, without the dashes.
            pub fn new(source: impl Into<Source>, settings: &[(&str, &str)]) -> Result<Self> {
                Ok($name(Handle::open(sys::$kind, source.into(), settings)?))
            }
        }

        impl Deref for $name {
            type Target = Handle;
            fn deref(&self) -> &Handle {
                &self.0
            }
        }

        impl DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Handle {
                &mut self.0
            }
        }
    )*};
}
handles! {
    /// Hosts a match, and decides what its inputs are.
    Host(LOCKSTEP_HOST),
    /// Plays in a match: the setting "server" is an invite or HOST:PORT.
    Client(LOCKSTEP_CLIENT),
    /// One simulation by itself: no network, no clock.
    Simulation(LOCKSTEP_SIM),
}

impl Host {
    /// Sends a player away, with a sentence that it reads.
    pub fn kick(&mut self, slot: u32, why: &str) -> Result<()> {
        self.check(unsafe { sys::lockstep_kick(self.raw, slot, c_text(why).as_ptr()) }).map(drop)
    }

    /// Halts a match, or lets it go on, with a sentence that all read.
    pub fn pause(&mut self, is_paused: bool, why: &str) -> Result<()> {
        let why = c_text(why);
        self.check(unsafe { sys::lockstep_pause(self.raw, is_paused.into(), why.as_ptr()) }).map(drop)
    }
}

impl Client {
    fn give(&mut self, bytes: &[u8], once: c_int) -> Result<()> {
        let (start, size) = (bytes.as_ptr().cast(), bytes.len() as u32);
        self.check(unsafe { sys::lockstep_input(self.raw, start, size, once) }).map(drop)
    }

    /// This player's input from now on.
    pub fn input(&mut self, bytes: &[u8]) -> Result<()> {
        self.give(bytes, 0)
    }

    /// The input of one tick, behind which the other goes on.
    pub fn input_once(&mut self, bytes: &[u8]) -> Result<()> {
        self.give(bytes, 1)
    }
}

impl Simulation {
    /// Steps once; `inputs` has the same number of bytes for each slot.
    #[inline]
    pub fn step(&mut self, inputs: &[u8]) -> Result<()> {
        Simulation::step_raw(std::slice::from_ref(&self.raw), inputs, self)
    }

    #[inline]
    fn step_raw(raw: &[*mut sys::lockstep], inputs: &[u8], first: &Handle) -> Result<()> {
        let needed = raw.len() * first.input_bytes;
        if inputs.len() != needed {
            let sentence = format!("inputs are {needed} bytes, not {}", inputs.len());
            return Err(Error { status: sys::LOCKSTEP_BAD_ARGUMENT, sentence });
        }
        let (sims, bytes) = (raw.as_ptr(), inputs.as_ptr().cast());
        first.check(unsafe { sys::lockstep_step(sims, raw.len(), bytes, null()) }).map(drop)
    }

    /// A state that is equal on every kind of machine.
    pub fn save(&self) -> Result<Vec<u8>> {
        let size = unsafe { sys::lockstep_save(self.raw, std::ptr::null_mut(), 0) };
        self.check(size.min(0) as c_int)?;
        let mut bytes = vec![0; size as usize];
        let done = unsafe { sys::lockstep_save(self.raw, bytes.as_mut_ptr().cast(), bytes.len()) };
        self.check(done.min(0) as c_int)?;
        Ok(bytes)
    }

    /// Puts a saved state in the place of this one; `tick` is its number from now on.
    pub fn load(&mut self, bytes: &[u8], tick: u32) -> Result<()> {
        let (start, size) = (bytes.as_ptr().cast(), bytes.len());
        self.check(unsafe { sys::lockstep_load(self.raw, start, size, tick) }).map(drop)
    }

    /// State 0 as it was at the start.
    pub fn rewind(&mut self) -> Result<()> {
        self.check(unsafe { sys::lockstep_load(self.raw, null(), 0, 0) }).map(drop)
    }

    /// Plays ticks of random inputs from the start, each step twice; fails with DESYNCED and the field
    /// when the two differ. The simulation itself stays where it is.
    pub fn check_steps(&mut self, ticks: u32) -> Result<()> {
        self.check(unsafe { sys::lockstep_check_steps(self.raw, ticks) }).map(drop)
    }
}

/// Simulations of one game and number of players that are stepped in one call.
pub struct Batch {
    pub sims: Vec<Simulation>,
    raw: Vec<*mut sys::lockstep>,
}

impl Batch {
    /// Inputs lie behind each other: for each simulation its slots.
    pub fn step(&mut self, inputs: &[u8]) -> Result<()> {
        match self.sims.first() {
            Some(first) => Simulation::step_raw(&self.raw, inputs, first),
            None => Ok(()),
        }
    }
}

impl From<Vec<Simulation>> for Batch {
    fn from(sims: Vec<Simulation>) -> Self {
        let raw = sims.iter().map(|sim| sim.raw).collect();
        Batch { sims, raw }
    }
}
