"""Makes the cartridges that the tests of the libretro plug-in play: our own, so that nobody has to
have one. On both, squares move over the screen and paint it: paint_nes.asm is for a NES with two
pads, paint_gb.asm for a Game Boy.

usage: make_cartridges.py NES_FILE GAME_BOY_FILE
"""

import os
import re
import sys

# Instructions as the sources write them, and their codes. N stands for a byte, W for a word of two
# bytes, R for a label as the distance to it. Of the 6502, '<' marks an address of one byte.
CODES_6502 = """
adc #N 69   and #N 29   asl 0A      bcc R 90    bcs R B0    beq R F0    bit W 2C    bne R D0
bpl R 10    clc 18      cld D8      cmp #N C9   cpx #N E0   dec <N,x D6 dex CA      dey 88
eor #N 49   eor <N 45   inc <N E6   inc <N,x F6 inx E8      jmp W 4C    jsr W 20    lda #N A9
lda <N A5   lda <N,x B5 lda W AD    lda W,x BD  ldx #N A2   ldy #N A0   lsr 4A      ora #N 09
ora <N 05   rol <N 26   rti 40      rts 60      sec 38      sbc #N E9   sei 78      sta W 8D
sta W,x 9D  sta W,y 99  sta <N 85   sta <N,x 95 stx W 8E    tay A8      txa 8A      txs 9A
"""
CODES_GAME_BOY = """
ld a,N 3E     ld b,N 06     ld c,N 0E     ld d,N 16     ld h,N 26     ld hl,W 21    ld de,W 11
ld bc,W 01    ld sp,W 31    ld a,[W] FA   ld [W],a EA   ldh a,[N] F0  ldh [N],a E0  ld a,[hl] 7E
ld [hl],a 77  ld [hl+],a 22 ld [hl],N 36  ld a,[de] 1A  ld [de],a 12  ld a,b 78     ld a,c 79
ld b,a 47     ld e,a 5F     ld l,a 6F     ld l,c 69     inc a 3C      inc [hl] 34   dec [hl] 35
inc hl 23     inc de 13     dec b 05      dec bc 0B     add hl,hl 29  add hl,de 19  add a,N C6
and N E6      or b B0       or c B1       xor N EE      xor b A8      cp N FE       cpl 2F
swap a CB37   srl a CB3F    sla a CB27    bit 0,b CB40  bit 1,b CB48  bit 2,b CB50  bit 3,b CB58
bit 5,b CB68  jr nz,R 20    jr z,R 28     jr nc,R 30    jr c,R 38     jp W C3       call W CD
ret C9        di F3
"""


class Assembler:
    """Turns lines into bytes: `name:` is a label, `name = value` a number, `.byte` has bytes, and
    what stands behind ';' is for the reader. Numbers are 12 or $0c."""

    def __init__(self, codes):
        rules = re.findall(r"(\S.*?) ([0-9A-F]{2,4})(?=\s)", codes)
        # One that says more comes first: "ld a,b" is no number called b.
        rules.sort(key=lambda rule: len(re.findall("[NWR]", rule[0])))
        self.rules = [(self.pattern_of(text), self.kind_of(text), bytes.fromhex(code))
                      for text, code in rules]  # fmt: skip

    @staticmethod
    def pattern_of(text):
        return re.compile(re.sub("[NWR]", r"([$\\w+]+)", re.escape(text).replace(r"\ ", " +")))

    @staticmethod
    def kind_of(text):
        return next((kind for kind in "NWR" if kind in text), "")

    def value(self, text):
        total = 0
        for part in text.split("+"):
            if part.startswith("$"):
                total += int(part[1:], 16)
            else:
                total += int(part) if part.isdigit() else self.names.get(part, 0)
        return total

    def instruction(self, line, at):
        for pattern, kind, code in self.rules:
            match = pattern.fullmatch(line)
            if match is None:
                continue
            size = len(code) + {"": 0, "N": 1, "R": 1, "W": 2}[kind]
            if kind == "":
                return code
            value = self.value(match.group(1))
            if kind == "R":
                value -= at + size
                assert not self.is_final or -128 <= value <= 127, line
            return code + (value & 0xFFFF).to_bytes(2, "little")[: size - len(code)]
        raise ValueError(f"no such instruction: {line}")

    def run_once(self, lines, origin):
        made = bytearray()
        for line in lines:
            line = line.split(";")[0].strip()
            label, number = re.fullmatch(r"(\w+):", line), re.fullmatch(r"(\w+) *= *(\S+)", line)
            if label:
                self.names[label.group(1)] = origin + len(made)
            elif number:
                self.names[number.group(1)] = self.value(number.group(2))
            elif line.startswith(".byte"):
                made += bytes(self.value(value.strip()) for value in line[5:].split(","))
            elif line:
                made += self.instruction(line, origin + len(made))
        return made

    def run(self, file, origin):
        """Twice: labels that come later are known the second time."""
        with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as source:
            lines = source.read().splitlines()
        self.names = {}
        for self.is_final in (False, True):
            made = self.run_once(lines, origin)
        return made


# Tiles of 8 rows of 8 pixels: floor, paint of the first player, of the second, and a ball.
FLOOR = ("........",) * 3 + ("...33...",) * 2 + ("........",) * 3
BALL = ("..1111..", ".111111.", "11222111", "11211111", "11111111", "11111111") + (
    ".111111.",
    "..1111..",
)
TILES = (("........",) * 8, FLOOR, ("11111111",) * 8, ("22222222",) * 8, BALL)


def plane(tile, bit):
    """One bit of each pixel, a byte a row."""
    return bytes(
        sum((int(pixel.replace(".", "0")) >> bit & 1) << 7 - x for x, pixel in enumerate(row))
        for row in tile
    )


def make_nes():
    program = Assembler(CODES_6502)
    code = program.run("paint_nes.asm", 0xC000)
    code = code.ljust(0x4000 - 6, b"\0")
    for name in ("frame", "start", "nothing"):  # what runs at a new picture, at first, on a break
        code += program.names[name].to_bytes(2, "little")
    tiles = b"".join(plane(tile, 0) + plane(tile, 1) for tile in TILES)
    # One bank of 16 KiB of program and one of 8 KiB of tiles, without any chip beside.
    return b"NES\x1a\x01\x01".ljust(16, b"\0") + code + tiles.ljust(0x2000, b"\0")


def make_game_boy():
    program = Assembler(CODES_GAME_BOY)
    code = program.run("paint_gb.asm", 0x150)
    tiles = b"".join(
        bytes(byte for rows in zip(plane(tile, 0), plane(tile, 1)) for byte in rows)
        for tile in TILES
    )
    image = bytearray(0x8000)
    image[0x100:0x104] = bytes([0x00, 0xC3]) + (0x150).to_bytes(2, "little")  # nop; jp $150
    image[0x134:0x139] = b"PAINT"
    checksum = 0
    for byte in image[0x134:0x14D]:
        checksum = checksum - byte - 1 & 0xFF
    image[0x14D] = checksum
    image[0x150 : 0x150 + len(code)] = code
    image[0x4000 : 0x4000 + len(tiles)] = tiles
    return bytes(image)


def main():
    for path, made in zip(sys.argv[1:], (make_nes(), make_game_boy())):
        with open(path, "wb") as file:
            file.write(made)


if __name__ == "__main__":
    main()
