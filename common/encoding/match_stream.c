#include "lockstep/common/encoding/match_stream.h"

enum {
    PRINT_BYTES_READ = 1152, /* as older programs wrote */
};
_Static_assert(LS_PRINT_BYTES_MAX <= PRINT_BYTES_READ, "a print that is written can be read");

void ls_sim_config_stream(ls_byte_stream *stream, ls_sim_config *config)
{
    ls_byte_stream_u64(stream, &config->seed);
    ls_byte_stream_ranged(stream, &config->tick_rate_hz, LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ);
    ls_byte_stream_ranged(stream, &config->players, 1, LS_PLAYERS_MAX);
    ls_byte_stream_ranged(stream, &config->param_count, 0, LS_PARAMS_MAX);
    for (uint32_t i = 0; i < config->param_count; i++) {
        uint64_t value = (uint64_t)config->params[i];
        ls_byte_stream_u64(stream, &value);
        config->params[i] = (int64_t)value;
    }
}

static void sim_file_stream(ls_byte_stream *stream, ls_sim_file *file)
{
    uint32_t size = (uint32_t)file->size;
    ls_byte_stream_ranged(stream, &size, 0, LS_FILE_BYTES_MAX);
    ls_byte_stream_u64(stream, &file->digest);
    if (stream->mode == LS_STREAM_READ) {
        file->bytes = NULL;
    }
    file->size = size;
}

void ls_sim_config_later_stream(ls_byte_stream *stream, ls_sim_config *config)
{
    ls_byte_stream_u32(stream, &config->tick_rate.numerator);
    ls_byte_stream_u32(stream, &config->tick_rate.denominator);
    bool is_whole = config->tick_rate.numerator == 0 && config->tick_rate.denominator == 0;
    stream->has_failed = stream->has_failed || (!is_whole && !ls_rate_is_good(config->tick_rate));
    ls_byte_stream_ranged(stream, &config->string_count, 0, LS_STRING_PARAMS_MAX);
    for (uint32_t i = 0; i < config->string_count; i++) {
        ls_byte_stream_text(stream, config->strings[i], sizeof config->strings[i]);
    }
    ls_byte_stream_ranged(stream, &config->file_count, 0, LS_FILE_PARAMS_MAX);
    for (uint32_t i = 0; i < config->file_count; i++) {
        sim_file_stream(stream, &config->files[i]);
    }
}

void ls_sim_config_end_stream(ls_byte_stream *stream, ls_sim_config *config)
{
    bool is_reading = stream->mode == LS_STREAM_READ;
    bool has_later =
        config->string_count > 0 || config->file_count > 0 || config->tick_rate.denominator > 0;
    if (is_reading ? !stream->has_failed && !ls_byte_stream_is_at_end(stream) : has_later) {
        ls_sim_config_later_stream(stream, config);
    }
}

void ls_sim_digests_stream(ls_byte_stream *stream, ls_sim_digests *digests)
{
    ls_byte_stream_u64(stream, &digests->parameters);
    ls_byte_stream_u64(stream, &digests->schema);
    ls_byte_stream_u64(stream, &digests->content);
    ls_byte_stream_u64(stream, &digests->initial);
}

void ls_build_fingerprint_stream(ls_byte_stream *stream, ls_build_fingerprint *print)
{
    uint8_t bytes[PRINT_BYTES_READ] = {0};
    uint32_t size =
        stream->mode == LS_STREAM_READ ? 0 : (uint32_t)ls_build_fingerprint_write(print, bytes);
    ls_byte_stream_ranged(stream, &size, 0, PRINT_BYTES_READ);
    ls_byte_stream_bytes(stream, bytes, size);
    if (stream->mode == LS_STREAM_READ) {
        ls_build_fingerprint_read(bytes, stream->has_failed ? 0 : size, print);
    }
}
