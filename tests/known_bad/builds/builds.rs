// Builds, in Rust: what builds.c calls, in a module of its own.
#![cfg_attr(not(map), no_std)]

mod colony {
    #[inline(never)]
    pub fn warm(heat: &mut [f64], ticks: u32) {
        for i in 0..heat.len() {
            let gain = (ticks + i as u32) as f64 / 3.0;
            heat[i] = heat[i] * share() + gain * 0.1; /* fault */
        }
    }

    /// The hash's keys are those of one process.
    #[cfg(map)]
    #[inline(never)]
    pub fn visit(heat: &mut [f64], ticks: u32) {
        let cells: std::collections::HashMap<usize, usize> =
            (0..heat.len()).map(|i| (i, i)).collect();
        let mut visits = ticks as f64;
        for cell in cells.values() {
            heat[*cell] = visits; /* fault */
            visits += 1.0;
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
    let heat = unsafe { core::slice::from_raw_parts_mut(heat, 8) };
    #[cfg(map)]
    colony::visit(heat, ticks);
    #[cfg(not(map))]
    colony::warm(heat, ticks);
}

#[cfg(not(map))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
