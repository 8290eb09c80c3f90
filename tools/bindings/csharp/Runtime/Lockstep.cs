// Hosts, clients and simulations over liblockstep. docs/csharp.md is the page for those who use it.
// A handle is used by one thread at a time. No call allocates, but for texts and exceptions.
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Lockstep
{
    public sealed class LockstepException : Exception
    {
        public readonly int Status; // Native.LOCKSTEP_MATCH_FULL and so on
        public LockstepException(int status, string sentence) : base(sentence) { Status = status; }
    }

    /// <summary>Something that has happened. Its text lasts until the next poll.</summary>
    public unsafe struct Event
    {
        internal lockstep_event Raw;
        public int Kind { get { return Raw.kind; } } // Native.LOCKSTEP_CONNECTED and so on
        public int Status { get { return Raw.status; } }
        public uint Slot { get { return Raw.slot; } }
        public uint Tick { get { return Raw.tick; } }
        public string Text { get { return Handle.Read(Raw.text); } }
    }

    public abstract unsafe class Handle : IDisposable
    {
        protected IntPtr raw;
        protected readonly Game game;

        /// <summary>`source`: a Game, a built-in's name, a plug-in's file, or null: of a client, the
        /// built-in that its host plays. Settings are "name=value", the flags of the programs by
        /// their names, without the dashes.</summary>
        protected Handle(int kind, object source, string[] settings)
        {
            game = source as Game;
            raw = Native.lockstep_create(kind, game != null ? game.Table : null);
            try {
                if (source is string)
                    Set("sim", (string)source);
                foreach (string setting in settings) {
                    int at = setting.IndexOf('=');
                    Set(at < 0 ? setting : setting.Substring(0, at), at < 0 ? "on" : setting.Substring(at + 1));
                }
                Check(Native.lockstep_start(raw));
            } catch {
                Dispose();
                throw;
            }
        }

        /// <summary>Ends at once what has not ended. Not in a step of its own.</summary>
        public void Dispose()
        {
            Check(Native.lockstep_close(raw));
            raw = IntPtr.Zero;
            GC.SuppressFinalize(this);
        }

        ~Handle() { Native.lockstep_close(raw); }

        internal static string Read(byte* text)
        {
            int size = 0;
            while (text != null && text[size] != 0)
                size++;
            return size == 0 ? "" : Encoding.UTF8.GetString(text, size);
        }

        /// <summary>The bytes of a text, for the time of a call.</summary>
        protected static byte[] Bytes(string text) { return Encoding.UTF8.GetBytes(text + "\0"); }

        protected int Check(int result)
        {
            if (game != null)
                game.ThrowFailure();
            if (result < 0)
                throw new LockstepException(result, Read(Native.lockstep_error(raw)));
            return result;
        }

        void Set(string name, string value)
        {
            fixed (byte* of = Bytes(name), to = Bytes(value))
                Check(Native.lockstep_set(raw, of, to));
        }

        /// <summary>Works for up to so long; false once it is over.</summary>
        public bool Frame(int waitMs) { return Check(Native.lockstep_frame(raw, (uint)waitMs)) > 0; }

        /// <summary>Client: leaves. Host: ends the match; with `saves` it can go on later.</summary>
        public void End(bool saves) { Check(Native.lockstep_end(raw, saves ? 1 : 0)); }

        /// <summary>The oldest event that was not polled.</summary>
        public bool Poll(out Event polled)
        {
            var read = new Event { Raw = { size = (UIntPtr)sizeof(lockstep_event) } };
            bool has = Native.lockstep_poll(raw, &read.Raw) > 0;
            polled = read;
            return has;
        }

        public lockstep_info Info
        {
            get {
                var info = new lockstep_info { size = (UIntPtr)sizeof(lockstep_info) };
                Check(Native.lockstep_get_info(raw, &info));
                return info;
            }
        }

        /// <summary>Host: one line that a player gives to the setting "server".</summary>
        public string Invite { get { return Read(Info.invite); } }

        /// <summary>Two states and how far between them a picture is, until the next call of Frame,
        /// Step or Load: cast them to the game's struct. False: there is no state yet.</summary>
        public bool TryView(out lockstep_view view)
        {
            var read = new lockstep_view { size = (UIntPtr)sizeof(lockstep_view) };
            bool has = Native.lockstep_get_view(raw, &read) >= 0;
            view = read;
            return has;
        }

        /// <summary>The hash by which machines compare the state.</summary>
        public ulong Hash { get { return Native.lockstep_hash(raw); } }

        public void Say(string words)
        {
            fixed (byte* text = Bytes(words))
                Check(Native.lockstep_say(raw, text));
        }
    }

    public sealed unsafe class Host : Handle
    {
        public Host(object source, params string[] settings)
            : base(Native.LOCKSTEP_HOST, source, settings) { }

        public void Kick(uint slot, string why)
        {
            fixed (byte* text = Bytes(why))
                Check(Native.lockstep_kick(raw, slot, text));
        }

        public void Pause(bool isPaused, string why)
        {
            fixed (byte* text = Bytes(why))
                Check(Native.lockstep_pause(raw, isPaused ? 1 : 0, text));
        }
    }

    public sealed unsafe class Client : Handle
    {
        /// <summary>`server`: an invite or HOST:PORT.</summary>
        public Client(string server, object source, params string[] settings)
            : base(Native.LOCKSTEP_CLIENT, source, With(server, settings)) { }

        static string[] With(string server, string[] settings)
        {
            var all = new string[settings.Length + 1];
            settings.CopyTo(all, 1);
            all[0] = "server=" + server;
            return all;
        }

        /// <summary>This player's input from now on; with `once` of one tick alone.</summary>
        public void Input(byte* bytes, int size, bool once)
        {
            Check(Native.lockstep_input(raw, bytes, (uint)size, once ? 1 : 0));
        }

        public void Input(byte input, bool once) { Input(&input, 1, once); }
    }

    public sealed unsafe class Simulation : Handle
    {
        readonly int inputBytes; // of all slots

        public Simulation(object source, params string[] settings)
            : base(Native.LOCKSTEP_SIM, source, settings)
        {
            lockstep_info info = Info;
            inputBytes = (int)(info.players * info.input_bytes);
        }

        /// <summary>Steps once; `inputs` has the same number of bytes for each slot.</summary>
        public void Step(byte[] inputs)
        {
            if (inputs.Length != inputBytes)
                throw new ArgumentException("inputs are " + inputBytes + " bytes");
            IntPtr sim = raw;
            fixed (byte* bytes = inputs)
                Check(Native.lockstep_step(&sim, (UIntPtr)1, bytes, null));
        }

        public byte[] Save()
        {
            var saved = new byte[Check((int)Native.lockstep_save(raw, null, UIntPtr.Zero))];
            fixed (byte* bytes = saved)
                Check((int)Native.lockstep_save(raw, bytes, (UIntPtr)saved.Length));
            return saved;
        }

        /// <summary>Puts a saved state in the place of this one; null: state 0.</summary>
        public void Load(byte[] saved, uint tick)
        {
            fixed (byte* bytes = saved)
                Check(Native.lockstep_load(raw, bytes, (UIntPtr)(saved != null ? saved.Length : 0), tick));
        }

        /// <summary>Plays ticks of random inputs from the start, each step twice; throws DESYNCED with the
        /// field when the two differ. The simulation itself stays where it is.</summary>
        public void CheckSteps(uint ticks)
        {
            Check(Native.lockstep_check_steps(raw, ticks));
        }
    }
}
