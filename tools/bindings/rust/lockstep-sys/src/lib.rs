//! What lockstep.h declares. Written by tools/bindings/make-declarations.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_void};

#[repr(C)]
pub struct lockstep {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_field {
    pub path: *const c_char,
    pub unit: *const c_char,
    pub type_: u32,
    pub length: u32,
    pub count: u32,
    pub offset: usize,
    pub stride: usize,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_field>() == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_setup {
    pub size: usize,
    pub seed: u64,
    pub players: u32,
    pub tick_rate_hz: u32,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_setup>() == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_slot {
    pub bytes: *const u8,
    pub size: u32,
    pub events: u32,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_slot>() == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_inputs {
    pub size: usize,
    pub setup: *const lockstep_setup,
    pub slots: *const lockstep_slot,
    pub tick: u32,
    pub wrote: Option<unsafe extern "C" fn(*const c_void, usize, usize)>,
    pub step: *const c_void,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_inputs>() == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_game {
    pub size: usize,
    pub name: *const c_char,
    pub version: u32,
    pub tick_rate_hz: u32,
    pub players_max: u32,
    pub input_bytes: u32,
    pub state_bytes: usize,
    pub fields: *const lockstep_field,
    pub field_count: usize,
    pub init: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *const lockstep_setup)>,
    pub step: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *const lockstep_inputs)>,
    pub user: *mut c_void,
    pub edges: *const u8,
    pub buttons: *const u8,
    pub names_writes: u32,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_game>() == 104);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_event {
    pub size: usize,
    pub kind: i32,
    pub status: i32,
    pub slot: u32,
    pub tick: u32,
    pub text: *const c_char,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_event>() == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_info {
    pub size: usize,
    pub status: i32,
    pub is_running: i32,
    pub is_over: i32,
    pub slot: u32,
    pub players: u32,
    pub players_here: u32,
    pub tick: u32,
    pub tick_rate_hz: u32,
    pub input_bytes: u32,
    pub input_delay_ticks: u32,
    pub desyncs: u32,
    pub rollback_depth_max: u32,
    pub port: u32,
    pub rtt_ms: f64,
    pub lost_percent: f64,
    pub stalled_ticks: u64,
    pub rollback_ticks: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub sim: *const c_char,
    pub invite: *const c_char,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_info>() == 128);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_player {
    pub size: usize,
    pub is_here: i32,
    pub is_desynced: i32,
    pub agreed_tick: u32,
    pub ticks_behind: u32,
    pub rtt_ms: f64,
    pub inputs_late: u64,
    pub name: *const c_char,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_player>() == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_view {
    pub size: usize,
    pub state: *const c_void,
    pub previous: *const c_void,
    pub state_bytes: usize,
    pub tick: u32,
    pub alpha: f64,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_view>() == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lockstep_shape {
    pub kind: i32,
    pub id: u32,
    pub colour: u32,
    pub slot: u32,
    pub x: f32,
    pub y: f32,
    pub half_width: f32,
    pub half_height: f32,
    pub angle: f32,
    pub corners: [f32; 6],
    pub text: [c_char; 64],
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<lockstep_shape>() == 124);

pub const LOCKSTEP_CLIENT: i32 = 1;
pub const LOCKSTEP_HOST: i32 = 2;
pub const LOCKSTEP_SIM: i32 = 3;
pub const LOCKSTEP_OK: i32 = 0;
pub const LOCKSTEP_NO_MEMORY: i32 = -1;
pub const LOCKSTEP_IO: i32 = -2;
pub const LOCKSTEP_BAD_ARGUMENT: i32 = -3;
pub const LOCKSTEP_MALFORMED: i32 = -4;
pub const LOCKSTEP_FULL: i32 = -5;
pub const LOCKSTEP_NOT_FOUND: i32 = -6;
pub const LOCKSTEP_UNSUPPORTED: i32 = -7;
pub const LOCKSTEP_SCHEMA: i32 = -8;
pub const LOCKSTEP_PLUGIN: i32 = -9;
pub const LOCKSTEP_PROTOCOL_MISMATCH: i32 = -20;
pub const LOCKSTEP_SIMULATION_MISMATCH: i32 = -22;
pub const LOCKSTEP_CONTENT_MISMATCH: i32 = -26;
pub const LOCKSTEP_MATCH_FULL: i32 = -30;
pub const LOCKSTEP_ALREADY_OVER: i32 = -32;
pub const LOCKSTEP_TIMED_OUT: i32 = -33;
pub const LOCKSTEP_DESYNCED: i32 = -35;
pub const LOCKSTEP_DISCONNECTED: i32 = -37;
pub const LOCKSTEP_REFUSED: i32 = -38;
pub const LOCKSTEP_NOT_ADMITTED: i32 = -39;
pub const LOCKSTEP_KICKED: i32 = -40;
pub const LOCKSTEP_SAVED: i32 = -41;
pub const LOCKSTEP_UNREACHABLE: i32 = -42;
pub const LOCKSTEP_PADDING: i32 = 0;
pub const LOCKSTEP_U8: i32 = 1;
pub const LOCKSTEP_U16: i32 = 2;
pub const LOCKSTEP_U32: i32 = 3;
pub const LOCKSTEP_U64: i32 = 4;
pub const LOCKSTEP_I8: i32 = 5;
pub const LOCKSTEP_I16: i32 = 6;
pub const LOCKSTEP_I32: i32 = 7;
pub const LOCKSTEP_I64: i32 = 8;
pub const LOCKSTEP_FIXED: i32 = 9;
pub const LOCKSTEP_ANGLE: i32 = 10;
pub const LOCKSTEP_F32: i32 = 11;
pub const LOCKSTEP_F64: i32 = 12;
pub const LOCKSTEP_LOG: i32 = 0;
pub const LOCKSTEP_CONNECTED: i32 = 1;
pub const LOCKSTEP_STARTED: i32 = 2;
pub const LOCKSTEP_JOINING: i32 = 3;
pub const LOCKSTEP_PLAYING: i32 = 4;
pub const LOCKSTEP_PLAYER_JOINED: i32 = 5;
pub const LOCKSTEP_PLAYER_LOST: i32 = 6;
pub const LOCKSTEP_PLAYER_LEFT: i32 = 7;
pub const LOCKSTEP_REFUSED_PEER: i32 = 8;
pub const LOCKSTEP_WAITING: i32 = 9;
pub const LOCKSTEP_LAG: i32 = 10;
pub const LOCKSTEP_CHAT: i32 = 11;
pub const LOCKSTEP_SAID: i32 = 12;
pub const LOCKSTEP_PAUSED: i32 = 13;
pub const LOCKSTEP_UNPAUSED: i32 = 14;
pub const LOCKSTEP_LOST: i32 = 15;
pub const LOCKSTEP_DESYNC: i32 = 16;
pub const LOCKSTEP_CAUSE: i32 = 17;
pub const LOCKSTEP_BUNDLE: i32 = 18;
pub const LOCKSTEP_HEALED: i32 = 19;
pub const LOCKSTEP_ENDED: i32 = 20;
pub const LOCKSTEP_OVER: i32 = 21;
pub const LOCKSTEP_DISC: i32 = 0;
pub const LOCKSTEP_BOX: i32 = 1;
pub const LOCKSTEP_LINE: i32 = 2;
pub const LOCKSTEP_TRIANGLE: i32 = 3;
pub const LOCKSTEP_TEXT: i32 = 5;
pub const LOCKSTEP_WHEEL: i32 = 6;
pub const LOCKSTEP_PLAYERS_MAX: u32 = 128;
pub const LOCKSTEP_INPUT_BYTES_MAX: u32 = 1024;
pub const LOCKSTEP_NO_SLOT: u32 = 4294967295;
pub const LOCKSTEP_JOINED: u32 = 1;
pub const LOCKSTEP_LEFT: u32 = 2;

extern "C" {
    pub fn lockstep_version() -> *const c_char;
    pub fn lockstep_status_name(status: c_int) -> *const c_char;
    pub fn lockstep_create(kind: c_int, game: *const lockstep_game) -> *mut lockstep;
    pub fn lockstep_set(handle: *mut lockstep, name: *const c_char, value: *const c_char) -> c_int;
    pub fn lockstep_setting(kind: c_int, number: u32, name: *mut *const c_char, takes: *mut *const c_char, help: *mut *const c_char) -> c_int;
    pub fn lockstep_start(handle: *mut lockstep) -> c_int;
    pub fn lockstep_frame(handle: *mut lockstep, wait_ms: u32) -> c_int;
    pub fn lockstep_end(handle: *mut lockstep, saves: c_int) -> c_int;
    pub fn lockstep_close(handle: *mut lockstep) -> c_int;
    pub fn lockstep_error(handle: *const lockstep) -> *const c_char;
    pub fn lockstep_poll(handle: *mut lockstep, event_: *mut lockstep_event) -> c_int;
    pub fn lockstep_get_info(handle: *mut lockstep, info: *mut lockstep_info) -> c_int;
    pub fn lockstep_get_player(handle: *mut lockstep, slot: u32, player: *mut lockstep_player) -> c_int;
    pub fn lockstep_say(handle: *mut lockstep, text: *const c_char) -> c_int;
    pub fn lockstep_get_view(handle: *mut lockstep, view: *mut lockstep_view) -> c_int;
    pub fn lockstep_find_field(handle: *mut lockstep, path: *const c_char, number: u32, field: *mut lockstep_field) -> c_int;
    pub fn lockstep_draw(client: *mut lockstep, shapes: *mut lockstep_shape, shape_bytes: usize, capacity: u32) -> c_int;
    pub fn lockstep_input(client: *mut lockstep, bytes: *const c_void, size: u32, once: c_int) -> c_int;
    pub fn lockstep_kick(host: *mut lockstep, slot: u32, why: *const c_char) -> c_int;
    pub fn lockstep_pause(host: *mut lockstep, is_paused: c_int, why: *const c_char) -> c_int;
    pub fn lockstep_step(sims: *const *mut lockstep, count: usize, inputs: *const c_void, sizes: *const u32) -> c_int;
    pub fn lockstep_save(sim: *mut lockstep, bytes: *mut c_void, capacity: usize) -> i64;
    pub fn lockstep_load(sim: *mut lockstep, bytes: *const c_void, size: usize, tick: u32) -> c_int;
    pub fn lockstep_check_steps(sim: *mut lockstep, ticks: u32) -> c_int;
    pub fn lockstep_hash(handle: *mut lockstep) -> u64;
}
