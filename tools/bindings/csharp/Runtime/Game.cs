// A game in C#: its state is a struct of numbers, whose members become the fields of the state.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Lockstep
{
    /// <summary>A member's unit, as in "mm".</summary>
    [AttributeUsage(AttributeTargets.Field)]
    public sealed class UnitAttribute : Attribute
    {
        public readonly string Unit;
        public UnitAttribute(string unit) { Unit = unit; }
    }

    /// <summary>The member is the first of so many structs. The state leaves room for the others:
    /// [StructLayout(LayoutKind.Sequential, Size = ...)], or FieldOffset of what follows.</summary>
    [AttributeUsage(AttributeTargets.Field)]
    public sealed class ItemsAttribute : Attribute
    {
        public readonly int Count;
        public ItemsAttribute(int count) { Count = count; }
    }

    public struct Fixed { public long Raw; } // of 2^-32 each
    public struct Angle { public uint Raw; } // of 2^-32 of a turn each

    /// <summary>All players' parts of a tick: any bytes, from any machine.</summary>
    public unsafe struct Inputs
    {
        readonly lockstep_inputs* inputs;
        internal Inputs(lockstep_inputs* given) { inputs = given; }
        public uint Tick { get { return inputs->tick; } }
        public ulong Seed { get { return inputs->setup->seed; } }
        public int Players { get { return (int)inputs->setup->players; } }
        public byte* Bytes(int slot) { return inputs->slots[slot].bytes; }
        public int Size(int slot) { return (int)inputs->slots[slot].size; }
        /// <summary>The first byte; 0 where there is none.</summary>
        public byte Byte(int slot)
        {
            return inputs->slots[slot].size > 0 ? *inputs->slots[slot].bytes : (byte)0;
        }
        public bool HasJoined(int slot) { return Has(slot, Native.LOCKSTEP_JOINED); }
        public bool HasLeft(int slot) { return Has(slot, Native.LOCKSTEP_LEFT); }
        bool Has(int slot, uint bit) { return (inputs->slots[slot].events & bit) != 0; }
    }

    /// <summary>By this name Unity's ahead-of-time compiler knows what C calls.</summary>
    sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type type) { }
    }

    /// <summary>Its step changes the state by its own content and the inputs alone: no clock, no
    /// random numbers that are not in the state, and integers where machines of several kinds
    /// play.</summary>
    public abstract unsafe class Game
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        delegate void InitCallback(IntPtr user, void* state, lockstep_setup* setup);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        delegate void StepCallback(IntPtr user, void* state, lockstep_inputs* inputs);

        static readonly InitCallback init = RunInit; // kept, as C holds their addresses
        static readonly StepCallback step = RunStep;
        static readonly Dictionary<Type, int> types = new Dictionary<Type, int> {
            { typeof(byte), Native.LOCKSTEP_U8 }, { typeof(sbyte), Native.LOCKSTEP_I8 },
            { typeof(ushort), Native.LOCKSTEP_U16 }, { typeof(short), Native.LOCKSTEP_I16 },
            { typeof(uint), Native.LOCKSTEP_U32 }, { typeof(int), Native.LOCKSTEP_I32 },
            { typeof(ulong), Native.LOCKSTEP_U64 }, { typeof(long), Native.LOCKSTEP_I64 },
            { typeof(float), Native.LOCKSTEP_F32 }, { typeof(double), Native.LOCKSTEP_F64 },
            { typeof(Fixed), Native.LOCKSTEP_FIXED }, { typeof(Angle), Native.LOCKSTEP_ANGLE },
        };

        static volatile Game[] games = new Game[0]; // all that there have been: their tables stay too

        internal readonly lockstep_game* Table; // stays as long as the process: it is small
        readonly List<lockstep_field> fields = new List<lockstep_field>();
        Exception failure;
        internal static bool EndsWithExceptions; // in a plug-in no call from C# throws them

        /// <summary>`edges` and `buttons`: masks of an input's bits, see lockstep.h.</summary>
        protected Game(string name, Type state, int playersMax, int inputBytes = 1,
                       int version = 1, int tickRateHz = 60, byte[] edges = null,
                       byte[] buttons = null)
        {
            Add(state, "", 0, 1, 0);
            var stored = (lockstep_field*)Memory(fields.Count * sizeof(lockstep_field));
            for (int i = 0; i < fields.Count; i++)
                stored[i] = fields[i];
            Table = (lockstep_game*)Memory(sizeof(lockstep_game));
            *Table = new lockstep_game {
                size = (UIntPtr)sizeof(lockstep_game), name = Text(name), version = (uint)version,
                tick_rate_hz = (uint)tickRateHz, players_max = (uint)playersMax,
                input_bytes = (uint)inputBytes, state_bytes = (UIntPtr)Marshal.SizeOf(state),
                fields = stored, field_count = (UIntPtr)fields.Count,
                init = Marshal.GetFunctionPointerForDelegate(init),
                step = Marshal.GetFunctionPointerForDelegate(step),
                user = (void*)AddGame(this),
                edges = Mask(edges, inputBytes), buttons = Mask(buttons, inputBytes),
            };
        }

        /// <summary>The state comes zeroed.</summary>
        protected virtual void Init(void* state, ulong seed, int players) { }
        protected abstract void Step(void* state, Inputs inputs);

        internal void ThrowFailure()
        {
            if (failure == null)
                return;
            var thrown = failure;
            failure = null;
            throw thrown;
        }

        void Keep(Exception thrown)
        {
            if (EndsWithExceptions)
                Environment.FailFast(thrown.ToString());
            failure = failure ?? thrown;
        }

        [MonoPInvokeCallback(typeof(InitCallback))]
        static void RunInit(IntPtr user, void* state, lockstep_setup* setup)
        {
            Game game = games[(int)user];
            try { game.Init(state, setup->seed, (int)setup->players); }
            catch (Exception thrown) { game.Keep(thrown); }
        }

        // An exception must not leave through frames of C: the next call from C# throws it.
        [MonoPInvokeCallback(typeof(StepCallback))]
        static void RunStep(IntPtr user, void* state, lockstep_inputs* inputs)
        {
            Game game = games[(int)user];
            try { game.Step(state, new Inputs(inputs)); }
            catch (Exception thrown) { game.Keep(thrown); }
        }

        // C has a game's number, as it can hold no reference. One that is added may move the others
        // into another array, so that a step of another thread goes on with the old one.
        static IntPtr AddGame(Game game)
        {
            lock (types) {
                var longer = new Game[games.Length + 1];
                games.CopyTo(longer, 0);
                longer[games.Length] = game;
                games = longer;
                return (IntPtr)(games.Length - 1);
            }
        }

        static void* Memory(int bytes) { return (void*)Marshal.AllocHGlobal(Math.Max(bytes, 1)); }

        internal static byte* Text(string text)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text + "\0");
            var memory = Memory(bytes.Length);
            Marshal.Copy(bytes, 0, (IntPtr)memory, bytes.Length);
            return (byte*)memory;
        }

        static byte* Mask(byte[] bits, int inputBytes)
        {
            var mask = (byte*)Memory(inputBytes);
            if (bits != null && bits.Length > inputBytes)
                throw new ArgumentException("a mask is longer than an input");
            for (int i = 0; i < inputBytes; i++)
                mask[i] = bits != null && i < bits.Length ? bits[i] : (byte)0;
            return mask;
        }

        void Put(string path, string unit, int type, int length, int count, int offset, int stride)
        {
            fields.Add(new lockstep_field {
                path = Text(path), unit = Text(unit), type_ = (uint)type, length = (uint)length,
                count = (uint)count, offset = (UIntPtr)offset, stride = (UIntPtr)stride });
        }

        // The members of a struct. Bytes between them become padding.
        void Add(Type type, string prefix, int offset, int count, int stride)
        {
            int end = 0;
            var all = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
            foreach (var member in type.GetFields(all).OrderBy(one => one.MetadataToken)) {
                int at = (int)Marshal.OffsetOf(type, member.Name);
                string path = prefix + member.Name;
                if (at > end)
                    Put(path + "_padding", "", 0, at - end, count, offset + end, stride);
                var unit = (UnitAttribute)Attribute.GetCustomAttribute(member, typeof(UnitAttribute));
                var items = (ItemsAttribute)Attribute.GetCustomAttribute(member, typeof(ItemsAttribute));
                var buffer = (FixedBufferAttribute)Attribute.GetCustomAttribute(
                    member, typeof(FixedBufferAttribute));
                var element = buffer != null ? buffer.ElementType : member.FieldType;
                int length = buffer != null ? buffer.Length : items != null ? items.Count : 1;
                int size = Marshal.SizeOf(element), number;
                if (types.TryGetValue(element, out number))
                    Put(path, unit == null ? "" : unit.Unit, number, length, count, offset + at, stride);
                else if (element.IsValueType && !element.IsPrimitive && (length == 1 || count == 1))
                    Add(element, path + ".", offset + at, Math.Max(count, length),
                        length > 1 ? size : stride);
                else
                    throw new ArgumentException(path + ": a state holds numbers, structs, and arrays"
                                                + " inside one array at most");
                end = at + length * size;
            }
            if (Marshal.SizeOf(type) > end)
                Put(prefix + "end_padding", "", 0, Marshal.SizeOf(type) - end, count, offset + end, stride);
        }
    }

    /// <summary>What tools/bindings/mono/plugin.c asks for: the table of the assembly's only game.
    /// </summary>
    public static unsafe class Plugin
    {
        public static IntPtr Table()
        {
            Game.EndsWithExceptions = true;
            var games = typeof(Game).Assembly.GetTypes().Where(
                type => type.IsSubclassOf(typeof(Game)) && !type.IsAbstract);
            return (IntPtr)((Game)Activator.CreateInstance(games.Single())).Table;
        }
    }
}
