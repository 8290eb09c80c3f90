// What lockstep.h declares. Written by tools/bindings/make-declarations.

using System;
using System.Runtime.InteropServices;

namespace Lockstep
{
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_field
    {
        public byte* path;
        public byte* unit;
        public uint type_;
        public uint length;
        public uint count;
        public UIntPtr offset;
        public UIntPtr stride;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_setup
    {
        public UIntPtr size;
        public ulong seed;
        public uint players;
        public uint tick_rate_hz;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_slot
    {
        public byte* bytes;
        public uint size;
        public uint events;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_inputs
    {
        public UIntPtr size;
        public lockstep_setup* setup;
        public lockstep_slot* slots;
        public uint tick;
        public IntPtr wrote;
        public void* step;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_game
    {
        public UIntPtr size;
        public byte* name;
        public uint version;
        public uint tick_rate_hz;
        public uint players_max;
        public uint input_bytes;
        public UIntPtr state_bytes;
        public lockstep_field* fields;
        public UIntPtr field_count;
        public IntPtr init;
        public IntPtr step;
        public void* user;
        public byte* edges;
        public byte* buttons;
        public uint names_writes;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_event
    {
        public UIntPtr size;
        public int kind;
        public int status;
        public uint slot;
        public uint tick;
        public byte* text;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_info
    {
        public UIntPtr size;
        public int status;
        public int is_running;
        public int is_over;
        public uint slot;
        public uint players;
        public uint players_here;
        public uint tick;
        public uint tick_rate_hz;
        public uint input_bytes;
        public uint input_delay_ticks;
        public uint desyncs;
        public uint rollback_depth_max;
        public uint port;
        public double rtt_ms;
        public double lost_percent;
        public ulong stalled_ticks;
        public ulong rollback_ticks;
        public ulong bytes_up;
        public ulong bytes_down;
        public byte* sim;
        public byte* invite;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_player
    {
        public UIntPtr size;
        public int is_here;
        public int is_desynced;
        public uint agreed_tick;
        public uint ticks_behind;
        public double rtt_ms;
        public ulong inputs_late;
        public byte* name;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_view
    {
        public UIntPtr size;
        public void* state;
        public void* previous;
        public UIntPtr state_bytes;
        public uint tick;
        public double alpha;
    }

    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct lockstep_shape
    {
        public int kind;
        public uint id;
        public uint colour;
        public uint slot;
        public float x;
        public float y;
        public float half_width;
        public float half_height;
        public float angle;
        public fixed float corners[6];
        public fixed byte text[64];
    }

    public static unsafe class Native
    {
        const string Library = "liblockstep";

        public const int LOCKSTEP_CLIENT = 1;
        public const int LOCKSTEP_HOST = 2;
        public const int LOCKSTEP_SIM = 3;
        public const int LOCKSTEP_OK = 0;
        public const int LOCKSTEP_NO_MEMORY = -1;
        public const int LOCKSTEP_IO = -2;
        public const int LOCKSTEP_BAD_ARGUMENT = -3;
        public const int LOCKSTEP_MALFORMED = -4;
        public const int LOCKSTEP_FULL = -5;
        public const int LOCKSTEP_NOT_FOUND = -6;
        public const int LOCKSTEP_UNSUPPORTED = -7;
        public const int LOCKSTEP_SCHEMA = -8;
        public const int LOCKSTEP_PLUGIN = -9;
        public const int LOCKSTEP_PROTOCOL_MISMATCH = -20;
        public const int LOCKSTEP_SIMULATION_MISMATCH = -22;
        public const int LOCKSTEP_CONTENT_MISMATCH = -26;
        public const int LOCKSTEP_MATCH_FULL = -30;
        public const int LOCKSTEP_ALREADY_OVER = -32;
        public const int LOCKSTEP_TIMED_OUT = -33;
        public const int LOCKSTEP_DESYNCED = -35;
        public const int LOCKSTEP_DISCONNECTED = -37;
        public const int LOCKSTEP_REFUSED = -38;
        public const int LOCKSTEP_NOT_ADMITTED = -39;
        public const int LOCKSTEP_KICKED = -40;
        public const int LOCKSTEP_SAVED = -41;
        public const int LOCKSTEP_UNREACHABLE = -42;
        public const int LOCKSTEP_PADDING = 0;
        public const int LOCKSTEP_U8 = 1;
        public const int LOCKSTEP_U16 = 2;
        public const int LOCKSTEP_U32 = 3;
        public const int LOCKSTEP_U64 = 4;
        public const int LOCKSTEP_I8 = 5;
        public const int LOCKSTEP_I16 = 6;
        public const int LOCKSTEP_I32 = 7;
        public const int LOCKSTEP_I64 = 8;
        public const int LOCKSTEP_FIXED = 9;
        public const int LOCKSTEP_ANGLE = 10;
        public const int LOCKSTEP_F32 = 11;
        public const int LOCKSTEP_F64 = 12;
        public const int LOCKSTEP_LOG = 0;
        public const int LOCKSTEP_CONNECTED = 1;
        public const int LOCKSTEP_STARTED = 2;
        public const int LOCKSTEP_JOINING = 3;
        public const int LOCKSTEP_PLAYING = 4;
        public const int LOCKSTEP_PLAYER_JOINED = 5;
        public const int LOCKSTEP_PLAYER_LOST = 6;
        public const int LOCKSTEP_PLAYER_LEFT = 7;
        public const int LOCKSTEP_REFUSED_PEER = 8;
        public const int LOCKSTEP_WAITING = 9;
        public const int LOCKSTEP_LAG = 10;
        public const int LOCKSTEP_CHAT = 11;
        public const int LOCKSTEP_SAID = 12;
        public const int LOCKSTEP_PAUSED = 13;
        public const int LOCKSTEP_UNPAUSED = 14;
        public const int LOCKSTEP_LOST = 15;
        public const int LOCKSTEP_DESYNC = 16;
        public const int LOCKSTEP_CAUSE = 17;
        public const int LOCKSTEP_BUNDLE = 18;
        public const int LOCKSTEP_HEALED = 19;
        public const int LOCKSTEP_ENDED = 20;
        public const int LOCKSTEP_OVER = 21;
        public const int LOCKSTEP_DISC = 0;
        public const int LOCKSTEP_BOX = 1;
        public const int LOCKSTEP_LINE = 2;
        public const int LOCKSTEP_TRIANGLE = 3;
        public const int LOCKSTEP_TEXT = 5;
        public const int LOCKSTEP_WHEEL = 6;
        public const uint LOCKSTEP_PLAYERS_MAX = 128;
        public const uint LOCKSTEP_INPUT_BYTES_MAX = 1024;
        public const uint LOCKSTEP_NO_SLOT = 4294967295;
        public const uint LOCKSTEP_JOINED = 1;
        public const uint LOCKSTEP_LEFT = 2;
        [DllImport(Library)] public static extern byte* lockstep_version();
        [DllImport(Library)] public static extern byte* lockstep_status_name(int status);
        [DllImport(Library)] public static extern IntPtr lockstep_create(int kind, lockstep_game* game);
        [DllImport(Library)] public static extern int lockstep_set(IntPtr handle, byte* name, byte* value);
        [DllImport(Library)] public static extern int lockstep_setting(int kind, uint number, byte** name, byte** takes, byte** help);
        [DllImport(Library)] public static extern int lockstep_start(IntPtr handle);
        [DllImport(Library)] public static extern int lockstep_frame(IntPtr handle, uint wait_ms);
        [DllImport(Library)] public static extern int lockstep_end(IntPtr handle, int saves);
        [DllImport(Library)] public static extern int lockstep_close(IntPtr handle);
        [DllImport(Library)] public static extern byte* lockstep_error(IntPtr handle);
        [DllImport(Library)] public static extern int lockstep_poll(IntPtr handle, lockstep_event* event_);
        [DllImport(Library)] public static extern int lockstep_get_info(IntPtr handle, lockstep_info* info);
        [DllImport(Library)] public static extern int lockstep_get_player(IntPtr handle, uint slot, lockstep_player* player);
        [DllImport(Library)] public static extern int lockstep_say(IntPtr handle, byte* text);
        [DllImport(Library)] public static extern int lockstep_get_view(IntPtr handle, lockstep_view* view);
        [DllImport(Library)] public static extern int lockstep_find_field(IntPtr handle, byte* path, uint number, lockstep_field* field);
        [DllImport(Library)] public static extern int lockstep_draw(IntPtr client, lockstep_shape* shapes, UIntPtr shape_bytes, uint capacity);
        [DllImport(Library)] public static extern int lockstep_input(IntPtr client, void* bytes, uint size, int once);
        [DllImport(Library)] public static extern int lockstep_kick(IntPtr host, uint slot, byte* why);
        [DllImport(Library)] public static extern int lockstep_pause(IntPtr host, int is_paused, byte* why);
        [DllImport(Library)] public static extern int lockstep_step(IntPtr* sims, UIntPtr count, void* inputs, uint* sizes);
        [DllImport(Library)] public static extern long lockstep_save(IntPtr sim, void* bytes, UIntPtr capacity);
        [DllImport(Library)] public static extern int lockstep_load(IntPtr sim, void* bytes, UIntPtr size, uint tick);
        [DllImport(Library)] public static extern int lockstep_check_steps(IntPtr sim, uint ticks);
        [DllImport(Library)] public static extern ulong lockstep_hash(IntPtr handle);
    }
}
