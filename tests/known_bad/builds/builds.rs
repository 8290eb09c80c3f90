// Builds, in Rust: what builds.c calls, in a module of its own.
#![no_std]

mod colony {
    #[inline(never)]
    pub fn warm(heat: &mut [f64], ticks: u32) {
        for i in 0..heat.len() {
            let gain = (ticks + i as u32) as f64 / 3.0;
            heat[i] = heat[i] * share() + gain * 0.1; /* fault */
        }
    }

    #[cfg(other)]
    fn share() -> f64 {
        0.9000001
    }

    #[cfg(not(other))]
    fn share() -> f64 {
        0.9
    }
}

#[no_mangle]
pub extern "C" fn builds_foreign(heat: *mut f64, _order: *mut u32, ticks: u32) {
    colony::warm(unsafe { core::slice::from_raw_parts_mut(heat, 8) }, ticks);
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
