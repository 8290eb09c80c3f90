/* Engine scene: what a wrapped engine computes in a short fixed match, as a content digest. A
 * library that was built for another processor, or by another compiler, may round otherwise (fused
 * multiply-adds), and no version tells. Two machines whose engines give different scenes never
 * share a match. Called by the adapters' content_digest and explain_content. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_ENGINE_SCENE_H
#define LOCKSTEP_TOOLS_ADAPTERS_ENGINE_SCENE_H

#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

/* An engine's release; each number up to 255. */
typedef struct engine_release {
    uint8_t major, minor, patch;
} engine_release;

/* The release and a hash of the states of 60 ticks of the simulation's default match, in which
 * random inputs come from a fixed seed. Takes a few milliseconds. */
uint64_t engine_scene_digest(const ls_simulation *simulation, engine_release release);

/* Why digests of a client and a server differ: engine, both releases and both scenes. */
void engine_scene_explain(const char *engine, uint64_t client, uint64_t server, ls_text *out);

LS_C_END

#endif
