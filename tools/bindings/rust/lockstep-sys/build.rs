//! LOCKSTEP_LIB_DIR names the folder of liblockstep.so; without it the linker finds it.
fn main() {
    println!("cargo:rerun-if-env-changed=LOCKSTEP_LIB_DIR");
    if let Ok(folder) = std::env::var("LOCKSTEP_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=lockstep");
}
