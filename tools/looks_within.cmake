# What looks into processes, machine code and debug information, which is for Linux.
# What reads machine code.
pkg_check_modules(CAPSTONE REQUIRED IMPORTED_TARGET capstone)
ls_add_library(disassembler SOURCES disassembler/disassembler.c USES lockstep_base PkgConfig::CAPSTONE)
# What explains a desync bundle.
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)
ls_add_library(explain
  SOURCES
    desync/difference_chain.c
    desync/evidence.c
    desync/explain.c
    desync/machine_code.c
    desync/picture.c
    desync/report.c
    desync/report_html.c
    desync/report_json.c
    desync/report_text.c
    desync/reproduce.c
    desync/write_trace.c
  USES lockstep_bundle lockstep_disassembler lockstep_drawing lockstep_program
    lockstep_rerun_process PkgConfig::DW)
ls_add_program(lockstep-desync SOURCES lockstep_desync.c USES lockstep_explain lockstep_param_files)
# lockstep-schema: from debug information to fields.
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)
ls_add_library(schema_writer
  SOURCES
    schema/code.c
    schema/debug_types.c
  USES lockstep_core lockstep_system PkgConfig::DW)
ls_add_program(lockstep-schema SOURCES lockstep_schema.c USES lockstep_schema_writer lockstep_program)
# The determinism test.
pkg_check_modules(LIBELF REQUIRED IMPORTED_TARGET libelf)
find_package(Threads REQUIRED)
ls_add_library(synctest
  SOURCES
    synctest/compare.c
    synctest/crash.c
    synctest/diagnosis.c
    synctest/foreign_locale.c
    synctest/input_taps.c
    synctest/laid_inputs.c
    synctest/launch.c
    synctest/lint.c
    synctest/lint_rules.c
    synctest/noise.c
    synctest/page_memory.c
    synctest/perturbation.c
    synctest/perturbed_process.c
    synctest/play_mode.c
    synctest/player.c
    synctest/result.c
    synctest/runner.c
    synctest/random_inputs.c
    synctest/shims.c
    synctest/shims_files.c
    synctest/shims_machine.c
    synctest/shims_memory.c
    synctest/statics.c
    synctest/surroundings.c
    synctest/synctest.c
    synctest/tape.c
  USES
    lockstep_client lockstep_loader lockstep_param_files lockstep_program lockstep_system
    lockstep_disassembler PkgConfig::LIBELF Threads::Threads)
ls_add_program(lockstep-synctest SOURCES lockstep_synctest.c USES lockstep_synctest)
