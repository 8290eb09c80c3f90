/* A loop with a picture, here SDL2's: lockstep_frame once a picture, then draw what it shows. The
 * session works in a thread of its own, so that a slow picture makes no input late.
 * usage: window INVITE; arrows and space play. */
#include <lockstep.h>

#include <SDL2/SDL.h>
#include <stdio.h>

enum {
    SHAPES = 4096,
    WIDTH = 960,
    HEIGHT = 720,
    METRE = 12
};

static unsigned char keys_held(void)
{
    static const struct {
        SDL_Scancode key;
        unsigned char bit;
    } keys[] = {{SDL_SCANCODE_UP, 1},
                {SDL_SCANCODE_DOWN, 2},
                {SDL_SCANCODE_LEFT, 4},
                {SDL_SCANCODE_RIGHT, 8},
                {SDL_SCANCODE_SPACE, 16}};
    const Uint8 *held = SDL_GetKeyboardState(NULL);
    unsigned char bits = 0;
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        bits |= held[keys[i].key] ? keys[i].bit : 0;
    }
    return bits;
}

static void draw(SDL_Renderer *renderer, lockstep *client)
{
    static lockstep_shape shapes[SHAPES];
    int count = lockstep_draw(client, shapes, sizeof shapes[0], SHAPES);
    SDL_SetRenderDrawColor(renderer, 16, 20, 28, 255);
    SDL_RenderClear(renderer);
    for (int i = 0; i < count; i++) {
        const lockstep_shape *shape = &shapes[i];
        float height = shape->half_height > 0 ? shape->half_height : shape->half_width;
        SDL_FRect box = {WIDTH / 2 + (shape->x - shape->half_width) * METRE,
                         HEIGHT / 2 - (shape->y + height) * METRE, 2 * shape->half_width * METRE,
                         2 * height * METRE};
        SDL_SetRenderDrawColor(renderer, (Uint8)(shape->colour >> 24), (Uint8)(shape->colour >> 16),
                               (Uint8)(shape->colour >> 8), 255);
        SDL_RenderFillRectF(renderer, &box);
    }
    SDL_RenderPresent(renderer);
}

int main(int argc, char **argv)
{
    SDL_Window *window = NULL;
    SDL_Renderer *renderer = NULL;
    lockstep *client = lockstep_create(LOCKSTEP_CLIENT, NULL);
    int result = -1;
    if (argc > 1 && SDL_Init(SDL_INIT_VIDEO) == 0 &&
        SDL_CreateWindowAndRenderer(WIDTH, HEIGHT, 0, &window, &renderer) == 0 &&
        lockstep_set(client, "server", argv[1]) == 0 && lockstep_set(client, "thread", "on") == 0 &&
        lockstep_start(client) == 0) {
        while ((result = lockstep_frame(client, 8)) > 0) {
            SDL_Event event;
            while (SDL_PollEvent(&event)) {
                if (event.type == SDL_QUIT) {
                    lockstep_end(client, 0);
                }
            }
            unsigned char keys = keys_held();
            lockstep_input(client, &keys, 1, 0);
            draw(renderer, client);
        }
    }
    if (result < 0) {
        fprintf(stderr, "window: %s%s\n", lockstep_error(client), SDL_GetError());
    }
    lockstep_close(client);
    SDL_Quit();
    return result < 0 ? 1 : 0;
}
