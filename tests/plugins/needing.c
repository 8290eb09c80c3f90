/* A plug-in that is right in itself, but needs a library. For tests that read its file. */
int needed_turn(int degrees);
int needing_turn(int degrees);

__attribute__((visibility("default"))) int needing_turn(int degrees)
{
    return needed_turn(degrees) + 1;
}
